"""Bone lists of the usual conventions for humans, written out by hand, with what each bone is.

A line is a chain: ``bone | ROLE > bone, bone | ROLE > ...``, each bone hanging on the one before; bones with commas
between them share a role. A chain that begins with a bone without a role goes on from that bone, named before. Bones
of the left side are written once: the pairs of a convention say how their names turn into those of the right side,
and every subtree that begins with such a name comes twice."""

_DAZ_WORDS = ("Thigh", "Shin", "Foot", "Toe", "Collar", "Shldr", "Forearm", "Hand", "Thumb", "Index")
_PAIRS = {
    "Mixamo": (("Left", "Right"),),
    "Unreal": (("_l", "_r"),),
    "Unity": (("Left", "Right"),),
    "VRoid": (("_L_", "_R_"),),
    "Biped": ((" L ", " R "), (" LUp", " RUp"), (" LFore", " RFore")),
    "Source": (("_L_", "_R_"), ("_LH", "_RH")),
    "MakeHuman default": ((".L", ".R"),),
    "Quaternius": ((".L", ".R"),),
    "KayKit": ((".l", ".r"),),
    "CMU": (("Left", "Right"), ("LThumb", "RThumb")),
    "CMU joints": (("Left", "Right"), ("LHip", "RHip"), ("lhand", "rhand"), ("LFing", "RFing"), ("LThumb", "RThumb")),
    "Bandai-Namco": (("_L", "_R"),),
    "MMD": (("左", "右"),),
    "MMD with twins": (("左", "右"),),
    "HumanIK": (("Left", "Right"),),
    "Daz": tuple((f"l{word}", f"r{word}") for word in _DAZ_WORDS),
}
_BONES = """
[Mixamo]
mixamorig:Hips | PELVIS > mixamorig:Spine, mixamorig:Spine1 | SPINE > mixamorig:Spine2 | CHEST
mixamorig:Spine2 > mixamorig:Neck | NECK > mixamorig:Head | HEAD > mixamorig:HeadTop_End | HELPER
mixamorig:Head > mixamorig:LeftEye | EYE
mixamorig:Spine2 > mixamorig:LeftShoulder | CLAVICLE > mixamorig:LeftArm | UPPER_ARM
mixamorig:LeftArm > mixamorig:LeftForeArm | FOREARM > mixamorig:LeftHand | HAND
mixamorig:LeftHand > mixamorig:LeftHandThumb1, mixamorig:LeftHandThumb2, mixamorig:LeftHandThumb3 | THUMB
mixamorig:LeftHand > mixamorig:LeftHandIndex1, mixamorig:LeftHandIndex2, mixamorig:LeftHandIndex3 | FINGER
mixamorig:LeftHand > mixamorig:LeftHandPinky1, mixamorig:LeftHandPinky2 | FINGER
mixamorig:Hips > mixamorig:LeftUpLeg | THIGH > mixamorig:LeftLeg | SHANK > mixamorig:LeftFoot | FOOT
mixamorig:LeftFoot > mixamorig:LeftToeBase | TOE > mixamorig:LeftToe_End | HELPER
[Unreal]
root | HELPER > pelvis | PELVIS > spine_01, spine_02 | SPINE > spine_03 | CHEST > clavicle_l | CLAVICLE
clavicle_l > upperarm_l | UPPER_ARM > lowerarm_l | FOREARM > hand_l | HAND
upperarm_l > upperarm_correctiveRoot_l | HELPER
hand_l > index_metacarpal_l | HELPER > index_01_l, index_02_l, index_03_l | FINGER
hand_l > thumb_01_l, thumb_02_l | THUMB
hand_l > weapon_l | HELPER
lowerarm_l > lowerarm_twist_01_l | TWIST
upperarm_l > upperarm_twist_01_l | TWIST
spine_03 > neck_01 | NECK > head | HEAD
pelvis > thigh_l | THIGH > calf_l | SHANK > calf_twist_01_l | TWIST
calf_l > foot_l | FOOT > ball_l | TOE
thigh_l > thigh_twist_01_l | TWIST
root > ik_foot_root, ik_foot_l | HELPER
root > ik_hand_root, ik_hand_gun, ik_hand_l | HELPER
[Unity]
Armature | HELPER > Hips | PELVIS > Spine | SPINE > Chest, UpperChest | CHEST > Neck | NECK > Head | HEAD
Head > LeftEye | EYE
Head > Jaw | JAW
UpperChest > LeftShoulder | CLAVICLE > LeftUpperArm | UPPER_ARM > LeftLowerArm | FOREARM > LeftHand | HAND
LeftHand > LeftThumbProximal, LeftThumbIntermediate, LeftThumbDistal | THUMB
LeftHand > LeftIndexProximal, LeftIndexIntermediate | FINGER
LeftHand > LeftLittleProximal | FINGER
Hips > LeftUpperLeg | THIGH > LeftLowerLeg | SHANK > LeftFoot | FOOT > LeftToes | TOE
[VRoid]
Root | HELPER > J_Bip_C_Hips | PELVIS > J_Bip_C_Spine | SPINE > J_Bip_C_Chest, J_Bip_C_UpperChest | CHEST
J_Bip_C_UpperChest > J_Bip_C_Neck | NECK > J_Bip_C_Head | HEAD > J_Adj_L_FaceEye | EYE
J_Bip_C_Head > J_Sec_Hair1_01, J_Sec_Hair2_01 | GENERIC
J_Bip_C_UpperChest > J_Sec_L_Bust1 | HELPER
J_Bip_C_UpperChest > J_Bip_L_Shoulder | CLAVICLE > J_Bip_L_UpperArm | UPPER_ARM > J_Bip_L_LowerArm | FOREARM
J_Bip_L_LowerArm > J_Bip_L_Hand | HAND > J_Bip_L_Thumb1, J_Bip_L_Thumb2 | THUMB
J_Bip_L_Hand > J_Bip_L_Little1, J_Bip_L_Little2 | FINGER
J_Bip_C_Hips > J_Bip_L_UpperLeg | THIGH > J_Sec_L_SkirtFront0_01 | GENERIC
J_Bip_L_UpperLeg > J_Bip_L_LowerLeg | SHANK > J_Bip_L_Foot | FOOT > J_Bip_L_ToeBase | TOE
[Biped]
Bip01, Bip01 Footsteps | HELPER
Bip01 > Bip01 Pelvis | PELVIS > Bip01 Spine | SPINE > Bip01 L Thigh | THIGH > Bip01 L Calf | SHANK
Bip01 L Calf > Bip01 L Foot | FOOT > Bip01 L Toe0 | TOE > Bip01 L Toe0Nub | HELPER
Bip01 Spine > Bip01 Spine1 | SPINE > Bip01 Spine2 | CHEST > Bip01 Neck | NECK > Bip01 Head | HEAD
Bip01 Head > Bip01 HeadNub | HELPER
Bip01 Head > Bip01 Ponytail1 | GENERIC
Bip01 Neck > Bip01 L Clavicle | CLAVICLE > Bip01 L UpperArm | UPPER_ARM > Bip01 LUpArmTwist | TWIST
Bip01 L UpperArm > Bip01 L Forearm | FOREARM > Bip01 L ForeTwist | TWIST
Bip01 L Forearm > Bip01 L Hand | HAND > Bip01 L Finger0, Bip01 L Finger01 | THUMB > Bip01 L Finger0Nub | HELPER
Bip01 L Hand > Bip01 L Finger1, Bip01 L Finger11 | FINGER
Bip01 Spine2 > Bip01 Prop1 | HELPER
[Source]
ValveBiped.Bip01_Pelvis | PELVIS
ValveBiped.Bip01_Pelvis > ValveBiped.Bip01_Spine, ValveBiped.Bip01_Spine1, ValveBiped.Bip01_Spine2 | SPINE
ValveBiped.Bip01_Spine2 > ValveBiped.Bip01_Spine4 | CHEST > ValveBiped.Bip01_Neck1 | NECK
ValveBiped.Bip01_Neck1 > ValveBiped.Bip01_Head1 | HEAD > ValveBiped.forward | HELPER
ValveBiped.Bip01_Spine4 > ValveBiped.Bip01_L_Clavicle | CLAVICLE > ValveBiped.Bip01_L_UpperArm | UPPER_ARM
ValveBiped.Bip01_L_UpperArm > ValveBiped.Bip01_L_Bicep | HELPER
ValveBiped.Bip01_L_UpperArm > ValveBiped.Bip01_L_Shoulder | HELPER
ValveBiped.Bip01_L_UpperArm > ValveBiped.Bip01_L_Forearm | FOREARM > ValveBiped.Bip01_L_Elbow | HELPER
ValveBiped.Bip01_L_Forearm > ValveBiped.Bip01_L_Ulna | TWIST
ValveBiped.Bip01_L_Forearm > ValveBiped.Bip01_L_Wrist | HELPER
ValveBiped.Bip01_L_Forearm > ValveBiped.Bip01_L_Hand | HAND > ValveBiped.Anim_Attachment_LH | HELPER
ValveBiped.Bip01_L_Hand > ValveBiped.Bip01_L_Finger0, ValveBiped.Bip01_L_Finger01, ValveBiped.Bip01_L_Finger02 | THUMB
ValveBiped.Bip01_L_Hand > ValveBiped.Bip01_L_Finger1, ValveBiped.Bip01_L_Finger11, ValveBiped.Bip01_L_Finger12 | FINGER
ValveBiped.Bip01_Pelvis > ValveBiped.Bip01_L_Thigh | THIGH > ValveBiped.Bip01_L_Calf | SHANK
ValveBiped.Bip01_L_Calf > ValveBiped.Bip01_L_Foot | FOOT > ValveBiped.Bip01_L_Toe0 | TOE
[MakeHuman default]
root | PELVIS > spine05, spine04, spine03, spine02 | SPINE > breast.L | HELPER
spine02 > spine01 | CHEST > neck01, neck02, neck03 | NECK > head | HEAD > jaw | JAW > tongue00 | HELPER
head > eye.L | EYE
head > levator02.L | HELPER
head > orbicularis03.L | HELPER
spine01 > clavicle.L | CLAVICLE > shoulder01.L | HELPER > upperarm01.L | UPPER_ARM > upperarm02.L | TWIST
upperarm02.L > lowerarm01.L | FOREARM > lowerarm02.L | TWIST > wrist.L | HAND
wrist.L > finger1-1.L, finger1-2.L | FINGER
wrist.L > metacarpal1.L | HELPER > finger2-1.L, finger2-2.L | FINGER
root > pelvis.L | HELPER > upperleg01.L | THIGH > upperleg02.L | TWIST > lowerleg01.L | SHANK
lowerleg01.L > lowerleg02.L | TWIST > foot.L | FOOT > toe1-1.L, toe1-2.L | TOE
foot.L > toe5-1.L | TOE
[Quaternius]
Root | HELPER > Hips | PELVIS > Abdomen | SPINE > Torso | CHEST > Neck | NECK > Head | HEAD > Head_end | HELPER
Torso > Shoulder.L | CLAVICLE > UpperArm.L | UPPER_ARM > LowerArm.L | FOREARM > Palm.L | HAND
Palm.L > Middle1.L, Middle2.L | FINGER
Palm.L > Thumb1.L | THUMB
Hips > UpperLeg.L | THIGH > LowerLeg.L | SHANK > Foot.L | FOOT
Root > PoleTarget.L | HELPER
[KayKit]
root | HELPER > hips | PELVIS > spine | SPINE > chest | CHEST > upperarm.l | UPPER_ARM > lowerarm.l | FOREARM
lowerarm.l > wrist.l, hand.l | HAND > handslot.l | HELPER
chest > head | HEAD
hips > upperleg.l | THIGH > lowerleg.l | SHANK > foot.l | FOOT > toes.l | TOE
root > kneeIK.l | HELPER
root > control-toe-roll.l, control-heel-roll.l, control-foot-roll.l, IK-foot.l | HELPER
[CMU]
Hips | PELVIS > LeftHipJoint | HELPER > LeftUpLeg | THIGH > LeftLeg | SHANK > LeftFoot | FOOT
LeftFoot > LeftToeBase | TOE
Hips > LowerBack, Spine | SPINE > Spine1 | CHEST > Neck, Neck1 | NECK > Head | HEAD
Spine1 > LeftShoulder | CLAVICLE > LeftArm | UPPER_ARM > LeftForeArm | FOREARM > LeftHand | HAND
LeftHand > LeftFingerBase, LeftHandIndex1 | FINGER
LeftHand > LThumb | THUMB
[CMU joints]
Hips | PELVIS > LHipJoint | HELPER > LeftHip | THIGH > LeftKnee | SHANK > LeftAnkle | FOOT > LeftToe | TOE
Hips > lowerback | SPINE > Chest, Chest2 | CHEST > lowerneck, Neck | NECK > Head | HEAD
Chest2 > LeftCollar | CLAVICLE > LeftShoulder | UPPER_ARM > LeftElbow | FOREARM > LeftWrist, lhand | HAND
lhand > LFingers | FINGER
LeftWrist > LThumb | THUMB
[Bandai-Namco]
joint_Root | HELPER > Hips | PELVIS > Spine | SPINE > Chest | CHEST > Neck | NECK > Head | HEAD
Chest > Shoulder_L | CLAVICLE > UpperArm_L | UPPER_ARM > LowerArm_L | FOREARM > Hand_L | HAND
Hips > UpperLeg_L | THIGH > LowerLeg_L | SHANK > Foot_L | FOOT > Toes_L | TOE
[MMD]
全ての親, センター, グルーブ, 腰 | HELPER > 上半身 | SPINE > 上半身2 | CHEST > 首 | NECK > 頭 | HEAD > 左目 | EYE
頭 > 両目 | HELPER
頭 > 前髪 | GENERIC
上半身2 > 左肩P | HELPER > 左肩 | CLAVICLE > 左肩C | HELPER > 左腕 | UPPER_ARM > 左腕捩 | TWIST
左腕捩 > 左ひじ | FOREARM > 左手捩 | TWIST > 左手首 | HAND > 左ダミー | HELPER
左手首 > 左親指０, 左親指１, 左親指２ | THUMB
左手首 > 左人指１, 左人指２ | FINGER
左手首 > 左小指１ | FINGER
腰 > 下半身 | PELVIS > スカート0_0 | GENERIC
下半身 > 左足 | THIGH > 左ひざ | SHANK > 左足首 | FOOT > 左つま先 | TOE
全ての親 > 左足ＩＫ, 左つま先ＩＫ | HELPER
[MMD with twins]
センター | HELPER > 上半身 | SPINE > 上半身2 | CHEST > 首 | NECK > 頭 | HEAD
上半身2 > 左肩 | CLAVICLE > 左腕 | UPPER_ARM > 左ひじ | FOREARM > 左手首 | HAND
センター > 下半身 | PELVIS > 腰キャンセル左 | HELPER > 左足D | THIGH > 左ひざD | SHANK > 左足首D | FOOT > 左足先EX | TOE
下半身 > 左足, 左ひざ, 左足首 | HELPER
センター > 左足IK親, 左足ＩＫ | HELPER
[HumanIK]
Character1_Reference | HELPER > Character1_Hips | PELVIS > Character1_LeftUpLeg | THIGH
Character1_LeftUpLeg > Character1_LeftUpLegRoll | TWIST
Character1_LeftUpLeg > Character1_LeftLeg | SHANK > Character1_LeftFoot | FOOT > Character1_LeftToeBase | TOE
Character1_Hips > Character1_Spine | SPINE > Character1_Spine1 | CHEST > Character1_LeftShoulder | CLAVICLE
Character1_LeftShoulder > Character1_LeftArm | UPPER_ARM > Character1_LeftArmRoll | TWIST
Character1_LeftArm > Character1_LeftForeArm | FOREARM > Character1_LeftHand | HAND
Character1_LeftHand > Character1_LeftHandThumb1 | THUMB
Character1_Spine1 > Character1_Neck | NECK > Character1_Head | HEAD
[Daz]
hip, pelvis | PELVIS > lThighBend | THIGH > lThighTwist | TWIST > lShin | SHANK > lFoot | FOOT > lToe | TOE
hip > abdomenLower, abdomenUpper | SPINE > chestLower, chestUpper | CHEST > lCollar | CLAVICLE
lCollar > lShldrBend | UPPER_ARM > lShldrTwist | TWIST > lForearmBend | FOREARM > lForearmTwist | TWIST
lForearmTwist > lHand | HAND > lThumb1 | THUMB
lHand > lIndex1 | FINGER
chestUpper > neckLower, neckUpper | NECK > head | HEAD
"""
_TEXTS = dict(block.split("]\n") for block in _BONES.split("\n[")[1:])
ALL = {name: (pairs, _TEXTS[name]) for name, pairs in _PAIRS.items()}
