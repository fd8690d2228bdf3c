"""What the main bones of real rigs are, read off the rigs by hand: from their names, and where those say nothing from
where the joints stand."""

from dataclasses import dataclass, field

from active_ragdoll.core.anatomy.roles import CENTER, LEFT, RIGHT

MAIN = ("PELVIS", "SPINE", "CHEST", "NECK", "HEAD", "CLAVICLE", "UPPER_ARM", "FOREARM", "HAND", "THIGH", "SHANK")
MAIN += ("FOOT", "TAIL", "WING", "JAW")


@dataclass
class Known:
    """What a rig is: kind, number of main bodies and of generic bones, bones by role, and how left turns to right."""

    kind: str
    bodies: int
    generic: int
    bones: dict[str, list] = field(default_factory=dict)
    right: dict[str, str] = field(default_factory=dict)

    def expected(self) -> dict:
        """(role, side) by name."""
        found = {}
        for role, names in self.bones.items():
            for name in names:
                turned = name
                for left, right in self.right.items():
                    turned = turned.replace(left, right)
                central = turned == name
                found[name] = (role, CENTER if central else LEFT)
                found[turned] = (role, CENTER if central else RIGHT)
        return found


# Rigs: kind, main bodies, generic bones. Then left > right in names, and the bones by role, of pairs the left ones.
TABLE = """
01_01.bvh: HUMAN 12
    Left > Right, PELVIS Hips, SPINE LowerBack Spine, CHEST Spine1, NECK Neck Neck1, HEAD Head, CLAVICLE LeftShoulder,
    UPPER_ARM LeftArm, FOREARM LeftForeArm, HAND LeftHand, THIGH LeftUpLeg, SHANK LeftLeg, FOOT LeftFoot
jumping_jacks.bvh: HUMAN 12
    Left > Right, lhand > rhand, PELVIS Hips, SPINE lowerback, CHEST Chest Chest2, NECK lowerneck Neck, HEAD Head,
    CLAVICLE LeftCollar, UPPER_ARM LeftShoulder, FOREARM LeftElbow, HAND LeftWrist lhand, THIGH LeftHip,
    SHANK LeftKnee, FOOT LeftAnkle
Knight.glb: HUMAN 12
    .l > .r, PELVIS hips, SPINE spine, CHEST chest, HEAD head, UPPER_ARM upperarm.l, FOREARM lowerarm.l,
    HAND wrist.l hand.l, THIGH upperleg.l, SHANK lowerleg.l, FOOT foot.l
Fox.glb: QUADRUPED 20
    LeftUpperArm_09 > RightUpperArm_06, LeftForeArm_010 > RightForeArm_07, LeftHand_011 > RightHand_08,
    LeftLeg01_015 > RightLeg01_019, LeftLeg02_016 > RightLeg02_020, LeftFoot01_017 > RightFoot01_021, PELVIS b_Hip_01,
    SPINE b_Spine01_02, CHEST b_Spine02_03, NECK b_Neck_04, HEAD b_Head_05, UPPER_ARM b_LeftUpperArm_09,
    FOREARM b_LeftForeArm_010, HAND b_LeftHand_011, THIGH b_LeftLeg01_015, SHANK b_LeftLeg02_016,
    FOOT b_LeftFoot01_017, TAIL b_Tail01_012 b_Tail02_013 b_Tail03_014
# The hind legs' names are one bone off: the knee is at the head of BackUpperLeg, the hock at that of BackLowerLeg.
# The hooves are bones for inverse kinematics outside of the hierarchy; the skin says whose they are.
animals_pack_Horse.glb: QUADRUPED 22
    .L > .R, PELVIS Back, SPINE Torso Torso2, CHEST Torso3, NECK Neck1 Neck2 Neck3, HEAD Head,
    CLAVICLE FrontShoulder.L, UPPER_ARM FrontUpperLeg.L, FOREARM FrontLowerLeg.L,
    HAND IKFrontLeg.L, THIGH BackLeg.L, SHANK BackUpperLeg.L, FOOT BackLowerLeg.L,
    TAIL Tail1 Tail2 Tail3 Tail4 Tail5 Tail6 Tail7
# Body carries the legs, Hips the spine; the feet hang on the root.
single_knight_pack_KnightCharacter.glb: HUMAN 12
    .L > .R, PELVIS Body Hips, SPINE Abdomen, CHEST Torso, NECK Neck, HEAD Head, CLAVICLE Shoulder.L,
    UPPER_ARM UpperArm.L, FOREARM LowerArm.L, HAND Palm.L MiddleHand.L, THIGH UpperLeg.L, SHANK LowerLeg.L,
    FOOT Foot.L
cesium_man.gltf: HUMAN 12
    Node_16 > Node_13, Node_17 > Node_14, Node_18 > Node_15, Node_7 > Node_3, Node_8 > Node_4, Node_9 > Node_5,
    PELVIS Node_2, SPINE Node_11, CHEST Node_12, NECK Node_19, HEAD Node_20, UPPER_ARM Node_16, FOREARM Node_17,
    HAND Node_18, THIGH Node_7, SHANK Node_8, FOOT Node_9
run.fbx: HUMAN 13
    Lefthand > RightHand, Left > Right, PELVIS Pelvis, SPINE Spine Spine1 Spine2, CHEST Spine3, NECK Neck, HEAD Head,
    CLAVICLE LeftShoulder, UPPER_ARM LeftArm, FOREARM LeftForeArm, HAND Lefthand, THIGH LeftUpLeg, SHANK LeftLeg,
    FOOT LeftFoot
mh_mixamo.blend: HUMAN 13
    Left > Right, PELVIS mixamorig:Hips, SPINE mixamorig:Spine mixamorig:Spine1, CHEST mixamorig:Spine2,
    NECK mixamorig:Neck, HEAD mixamorig:Head, CLAVICLE mixamorig:LeftShoulder, UPPER_ARM mixamorig:LeftArm,
    FOREARM mixamorig:LeftForeArm, HAND mixamorig:LeftHand, THIGH mixamorig:LeftUpLeg, SHANK mixamorig:LeftLeg,
    FOOT mixamorig:LeftFoot
metarig human: HUMAN 13
    .L > .R, PELVIS spine, SPINE spine.001 spine.002, CHEST spine.003, NECK spine.004 spine.005, HEAD spine.006,
    CLAVICLE shoulder.L, UPPER_ARM upper_arm.L, FOREARM forearm.L, HAND hand.L, THIGH thigh.L, SHANK shin.L,
    FOOT foot.L, JAW jaw
metarig Basic.basic_quadruped: QUADRUPED 22
    .L > .R, PELVIS spine.004, SPINE spine.005 spine.006 spine.007, CHEST spine.008, NECK spine.009 spine.010,
    HEAD spine.011, TAIL spine.003 spine.002 spine.001 spine, CLAVICLE shoulder.L, UPPER_ARM front_thigh.L,
    FOREARM front_shin.L, HAND front_foot.L, THIGH thigh.L, SHANK shin.L, FOOT foot.L
metarig Animals.bird: CREATURE 24
    .L > .R, PELVIS spine.003, SPINE spine.004, CHEST spine.005, NECK spine.006 neck.001 neck.002, HEAD head,
    TAIL spine.002 spine.001 spine, CLAVICLE shoulder.L, WING Wing.L Wing.001.L Wing.002.L, THIGH thigh.L,
    SHANK shin.L, FOOT foot.L
metarig Animals.horse: QUADRUPED 22
    .L > .R, PELVIS spine.001, SPINE spine.002 spine.003 spine.004 spine.005, CHEST spine.006,
    NECK neck.001 neck.002 neck.003 neck.004, HEAD head, JAW jaw jaw.001,
    TAIL tail.001 tail.002 tail.003 tail.004 tail.005, CLAVICLE shoulder.L, UPPER_ARM upper_arm.L, FOREARM forearm.L,
    HAND forefoot.L, THIGH thigh.L, SHANK lower_leg.L, FOOT hind_foot.L
# Generic are its fins, and the shoulders that carry two of them.
metarig Animals.shark: CREATURE 29 17
    .L > .R, SPINE spine.003 spine.008 spine.004 spine.005 spine.006, HEAD spine.007, JAW jaw.master jaw jaw.001,
    TAIL spine.002 spine.001 spine
metarig Animals.wolf: QUADRUPED 22
    .L > .R, PELVIS spine.004, SPINE spine.005 spine.006 spine.007, CHEST spine.008, NECK spine.009 spine.010,
    HEAD spine.011, TAIL spine.003 spine.002 spine.001 spine, CLAVICLE shoulder.L, UPPER_ARM front_thigh.L,
    FOREARM front_shin.L, HAND front_foot.L, THIGH thigh.L, SHANK shin.L, FOOT foot.L, JAW jaw
generated: HUMAN 13
    .L > .R, PELVIS DEF-spine, SPINE DEF-spine.001 DEF-spine.002, CHEST DEF-spine.003,
    NECK DEF-spine.004 DEF-spine.005, HEAD DEF-spine.006, CLAVICLE DEF-shoulder.L, UPPER_ARM DEF-upper_arm.L,
    FOREARM DEF-forearm.L, HAND DEF-hand.L, THIGH DEF-thigh.L, SHANK DEF-shin.L, FOOT DEF-foot.L, JAW DEF-jaw
"""


def _read(table: str) -> dict[str, Known]:
    known = {}
    for line in table.strip().split("\n"):
        if not line.startswith((" ", "#")):
            names, _, facts = line.partition(": ")
            kind, bodies, *generic = facts.split()
            rig = Known(kind, int(bodies), int(generic[0]) if generic else 0)
            known |= dict.fromkeys(names.split(", "), rig)
        elif not line.startswith("#"):
            for role, *bones in (entry.split() for entry in line.rstrip(",").split(", ")):
                if bones[0] == ">":
                    rig.right[role] = bones[1]
                else:
                    rig.bones[role] = bones
    return known


ALL = _read(TABLE)
METARIGS = [name for name in ALL if name.startswith("metarig ")]
FILES = [name for name in ALL if name not in METARIGS and name != "generated"]
