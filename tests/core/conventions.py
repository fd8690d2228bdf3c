"""Bone lists of the usual conventions for humans, written out by hand, with what each bone is.

A line is ``name | ROLE``, indented by its depth. Bones of the left side are written once: the pairs before say how
their names turn into those of the right side, and every subtree that begins with such a name comes twice.
"""

from conventions_more import BANDAI, CMU, CMU_JOINTS, DAZ, HUMAN_IK, KAYKIT, MMD, MMD_TWINS, QUATERNIUS

MIXAMO = (
    (("Left", "Right"),),
    """
mixamorig:Hips | PELVIS
  mixamorig:Spine | SPINE
    mixamorig:Spine1 | SPINE
      mixamorig:Spine2 | CHEST
        mixamorig:Neck | NECK
          mixamorig:Head | HEAD
            mixamorig:HeadTop_End | HELPER
            mixamorig:LeftEye | EYE
        mixamorig:LeftShoulder | CLAVICLE
          mixamorig:LeftArm | UPPER_ARM
            mixamorig:LeftForeArm | FOREARM
              mixamorig:LeftHand | HAND
                mixamorig:LeftHandThumb1 | THUMB
                  mixamorig:LeftHandThumb2 | THUMB
                    mixamorig:LeftHandThumb3 | THUMB
                mixamorig:LeftHandIndex1 | FINGER
                  mixamorig:LeftHandIndex2 | FINGER
                    mixamorig:LeftHandIndex3 | FINGER
                mixamorig:LeftHandPinky1 | FINGER
                  mixamorig:LeftHandPinky2 | FINGER
  mixamorig:LeftUpLeg | THIGH
    mixamorig:LeftLeg | SHANK
      mixamorig:LeftFoot | FOOT
        mixamorig:LeftToeBase | TOE
          mixamorig:LeftToe_End | HELPER
""",
)

UNREAL = (
    (("_l", "_r"),),
    """
root | HELPER
  pelvis | PELVIS
    spine_01 | SPINE
      spine_02 | SPINE
        spine_03 | CHEST
          clavicle_l | CLAVICLE
            upperarm_l | UPPER_ARM
              lowerarm_l | FOREARM
                hand_l | HAND
                  index_01_l | FINGER
                    index_02_l | FINGER
                      index_03_l | FINGER
                  thumb_01_l | THUMB
                    thumb_02_l | THUMB
                  weapon_l | HELPER
                lowerarm_twist_01_l | TWIST
              upperarm_twist_01_l | TWIST
          neck_01 | NECK
            head | HEAD
    thigh_l | THIGH
      calf_l | SHANK
        calf_twist_01_l | TWIST
        foot_l | FOOT
          ball_l | TOE
      thigh_twist_01_l | TWIST
  ik_foot_root | HELPER
    ik_foot_l | HELPER
  ik_hand_root | HELPER
    ik_hand_gun | HELPER
      ik_hand_l | HELPER
""",
)

UNREAL_5 = (
    (("_l", "_r"),),
    """
root | HELPER
  pelvis | PELVIS
    spine_01 | SPINE
      spine_02 | SPINE
        spine_03 | SPINE
          spine_04 | SPINE
            spine_05 | CHEST
              clavicle_l | CLAVICLE
                upperarm_l | UPPER_ARM
                  lowerarm_l | FOREARM
                    hand_l | HAND
                      index_metacarpal_l | HELPER
                        index_01_l | FINGER
                          index_02_l | FINGER
                      thumb_01_l | THUMB
                    lowerarm_twist_02_l | TWIST
                  upperarm_correctiveRoot_l | HELPER
              neck_01 | NECK
                neck_02 | NECK
                  head | HEAD
    thigh_l | THIGH
      calf_l | SHANK
        foot_l | FOOT
          ball_l | TOE
  interaction | GENERIC
  center_of_mass | GENERIC
""",
)

UNITY = (
    (("Left", "Right"),),
    """
Armature | HELPER
  Hips | PELVIS
    Spine | SPINE
      Chest | CHEST
        UpperChest | CHEST
          Neck | NECK
            Head | HEAD
              LeftEye | EYE
              Jaw | JAW
          LeftShoulder | CLAVICLE
            LeftUpperArm | UPPER_ARM
              LeftLowerArm | FOREARM
                LeftHand | HAND
                  LeftThumbProximal | THUMB
                    LeftThumbIntermediate | THUMB
                      LeftThumbDistal | THUMB
                  LeftIndexProximal | FINGER
                    LeftIndexIntermediate | FINGER
                  LeftLittleProximal | FINGER
    LeftUpperLeg | THIGH
      LeftLowerLeg | SHANK
        LeftFoot | FOOT
          LeftToes | TOE
""",
)

VROID = (
    (("_L_", "_R_"),),
    """
Root | HELPER
  J_Bip_C_Hips | PELVIS
    J_Bip_C_Spine | SPINE
      J_Bip_C_Chest | CHEST
        J_Bip_C_UpperChest | CHEST
          J_Bip_C_Neck | NECK
            J_Bip_C_Head | HEAD
              J_Adj_L_FaceEye | EYE
              J_Sec_Hair1_01 | GENERIC
                J_Sec_Hair2_01 | GENERIC
          J_Sec_L_Bust1 | HELPER
          J_Bip_L_Shoulder | CLAVICLE
            J_Bip_L_UpperArm | UPPER_ARM
              J_Bip_L_LowerArm | FOREARM
                J_Bip_L_Hand | HAND
                  J_Bip_L_Thumb1 | THUMB
                    J_Bip_L_Thumb2 | THUMB
                  J_Bip_L_Little1 | FINGER
                    J_Bip_L_Little2 | FINGER
    J_Bip_L_UpperLeg | THIGH
      J_Sec_L_SkirtFront0_01 | GENERIC
      J_Bip_L_LowerLeg | SHANK
        J_Bip_L_Foot | FOOT
          J_Bip_L_ToeBase | TOE
""",
)

BIPED = (
    ((" L ", " R "), (" LUp", " RUp"), (" LFore", " RFore")),
    """
Bip01 | HELPER
  Bip01 Footsteps | HELPER
  Bip01 Pelvis | PELVIS
    Bip01 Spine | SPINE
      Bip01 L Thigh | THIGH
        Bip01 L Calf | SHANK
          Bip01 L Foot | FOOT
            Bip01 L Toe0 | TOE
              Bip01 L Toe0Nub | HELPER
      Bip01 Spine1 | SPINE
        Bip01 Spine2 | CHEST
          Bip01 Neck | NECK
            Bip01 Head | HEAD
              Bip01 HeadNub | HELPER
              Bip01 Ponytail1 | GENERIC
            Bip01 L Clavicle | CLAVICLE
              Bip01 L UpperArm | UPPER_ARM
                Bip01 LUpArmTwist | TWIST
                Bip01 L Forearm | FOREARM
                  Bip01 L ForeTwist | TWIST
                  Bip01 L Hand | HAND
                    Bip01 L Finger0 | THUMB
                      Bip01 L Finger01 | THUMB
                        Bip01 L Finger0Nub | HELPER
                    Bip01 L Finger1 | FINGER
                      Bip01 L Finger11 | FINGER
                    Bip01 L Finger4 | FINGER
          Bip01 Prop1 | HELPER
""",
)

SOURCE = (
    (("_L_", "_R_"), ("_LH", "_RH")),
    """
ValveBiped.Bip01_Pelvis | PELVIS
  ValveBiped.Bip01_Spine | SPINE
    ValveBiped.Bip01_Spine1 | SPINE
      ValveBiped.Bip01_Spine2 | SPINE
        ValveBiped.Bip01_Spine4 | CHEST
          ValveBiped.Bip01_Neck1 | NECK
            ValveBiped.Bip01_Head1 | HEAD
              ValveBiped.forward | HELPER
          ValveBiped.Bip01_L_Clavicle | CLAVICLE
            ValveBiped.Bip01_L_UpperArm | UPPER_ARM
              ValveBiped.Bip01_L_Bicep | HELPER
              ValveBiped.Bip01_L_Shoulder | HELPER
              ValveBiped.Bip01_L_Forearm | FOREARM
                ValveBiped.Bip01_L_Elbow | HELPER
                ValveBiped.Bip01_L_Ulna | TWIST
                ValveBiped.Bip01_L_Wrist | HELPER
                ValveBiped.Bip01_L_Hand | HAND
                  ValveBiped.Anim_Attachment_LH | HELPER
                  ValveBiped.Bip01_L_Finger0 | THUMB
                    ValveBiped.Bip01_L_Finger01 | THUMB
                      ValveBiped.Bip01_L_Finger02 | THUMB
                  ValveBiped.Bip01_L_Finger1 | FINGER
                    ValveBiped.Bip01_L_Finger11 | FINGER
                      ValveBiped.Bip01_L_Finger12 | FINGER
                  ValveBiped.Bip01_L_Finger4 | FINGER
  ValveBiped.Bip01_L_Thigh | THIGH
    ValveBiped.Bip01_L_Calf | SHANK
      ValveBiped.Bip01_L_Foot | FOOT
        ValveBiped.Bip01_L_Toe0 | TOE
""",
)

MAKEHUMAN_DEFAULT = (
    ((".L", ".R"),),
    """
root | PELVIS
  spine05 | SPINE
    spine04 | SPINE
      spine03 | SPINE
        spine02 | SPINE
          breast.L | HELPER
          spine01 | CHEST
            neck01 | NECK
              neck02 | NECK
                neck03 | NECK
                  head | HEAD
                    jaw | JAW
                      tongue00 | HELPER
                    eye.L | EYE
                    levator02.L | HELPER
                    orbicularis03.L | HELPER
            clavicle.L | CLAVICLE
              shoulder01.L | HELPER
                upperarm01.L | UPPER_ARM
                  upperarm02.L | TWIST
                    lowerarm01.L | FOREARM
                      lowerarm02.L | TWIST
                        wrist.L | HAND
                          finger1-1.L | FINGER
                            finger1-2.L | FINGER
                          metacarpal1.L | HELPER
                            finger2-1.L | FINGER
                              finger2-2.L | FINGER
  pelvis.L | HELPER
    upperleg01.L | THIGH
      upperleg02.L | TWIST
        lowerleg01.L | SHANK
          lowerleg02.L | TWIST
            foot.L | FOOT
              toe1-1.L | TOE
                toe1-2.L | TOE
              toe5-1.L | TOE
""",
)

ALL = {
    "Mixamo": MIXAMO,
    "Unreal": UNREAL,
    "Unreal 5": UNREAL_5,
    "Unity": UNITY,
    "VRoid": VROID,
    "Biped": BIPED,
    "Source": SOURCE,
    "MakeHuman default": MAKEHUMAN_DEFAULT,
    "Quaternius": QUATERNIUS,
    "KayKit": KAYKIT,
    "CMU": CMU,
    "CMU joints": CMU_JOINTS,
    "Bandai-Namco": BANDAI,
    "MMD": MMD,
    "MMD with twins": MMD_TWINS,
    "HumanIK": HUMAN_IK,
    "Daz": DAZ,
}
