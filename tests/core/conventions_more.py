"""The other half of the bone lists of `conventions`, in the same notation."""

QUATERNIUS = (
    ((".L", ".R"),),
    """
Root | HELPER
  Hips | PELVIS
    Abdomen | SPINE
      Torso | CHEST
        Neck | NECK
          Head | HEAD
            Head_end | HELPER
        Shoulder.L | CLAVICLE
          UpperArm.L | UPPER_ARM
            LowerArm.L | FOREARM
              Palm.L | HAND
                Middle1.L | FINGER
                  Middle2.L | FINGER
                Thumb1.L | THUMB
    UpperLeg.L | THIGH
      LowerLeg.L | SHANK
        Foot.L | FOOT
  PoleTarget.L | HELPER
""",
)

KAYKIT = (
    ((".l", ".r"),),
    """
root | HELPER
  hips | PELVIS
    spine | SPINE
      chest | CHEST
        upperarm.l | UPPER_ARM
          lowerarm.l | FOREARM
            wrist.l | HAND
              hand.l | HAND
                handslot.l | HELPER
        head | HEAD
    upperleg.l | THIGH
      lowerleg.l | SHANK
        foot.l | FOOT
          toes.l | TOE
  kneeIK.l | HELPER
  control-toe-roll.l | HELPER
    control-heel-roll.l | HELPER
      control-foot-roll.l | HELPER
        IK-foot.l | HELPER
  elbowIK.l | HELPER
  handIK.l | HELPER
""",
)

CMU = (
    (("Left", "Right"), ("LThumb", "RThumb")),
    """
Hips | PELVIS
  LeftHipJoint | HELPER
    LeftUpLeg | THIGH
      LeftLeg | SHANK
        LeftFoot | FOOT
          LeftToeBase | TOE
  LowerBack | SPINE
    Spine | SPINE
      Spine1 | CHEST
        Neck | NECK
          Neck1 | NECK
            Head | HEAD
        LeftShoulder | CLAVICLE
          LeftArm | UPPER_ARM
            LeftForeArm | FOREARM
              LeftHand | HAND
                LeftFingerBase | FINGER
                  LeftHandIndex1 | FINGER
                LThumb | THUMB
""",
)

CMU_JOINTS = (
    (("Left", "Right"), ("LHip", "RHip"), ("lhand", "rhand"), ("LFing", "RFing"), ("LThumb", "RThumb")),
    """
Hips | PELVIS
  LHipJoint | HELPER
    LeftHip | THIGH
      LeftKnee | SHANK
        LeftAnkle | FOOT
          LeftToe | TOE
  lowerback | SPINE
    Chest | CHEST
      Chest2 | CHEST
        lowerneck | NECK
          Neck | NECK
            Head | HEAD
        LeftCollar | CLAVICLE
          LeftShoulder | UPPER_ARM
            LeftElbow | FOREARM
              LeftWrist | HAND
                lhand | HAND
                  LFingers | FINGER
                LThumb | THUMB
""",
)

BANDAI = (
    (("_L", "_R"),),
    """
joint_Root | HELPER
  Hips | PELVIS
    Spine | SPINE
      Chest | CHEST
        Neck | NECK
          Head | HEAD
        Shoulder_L | CLAVICLE
          UpperArm_L | UPPER_ARM
            LowerArm_L | FOREARM
              Hand_L | HAND
    UpperLeg_L | THIGH
      LowerLeg_L | SHANK
        Foot_L | FOOT
          Toes_L | TOE
""",
)

MMD = (
    (("左", "右"),),
    """
全ての親 | HELPER
  センター | HELPER
    グルーブ | HELPER
      腰 | HELPER
        上半身 | SPINE
          上半身2 | CHEST
            首 | NECK
              頭 | HEAD
                左目 | EYE
                両目 | HELPER
                前髪 | GENERIC
            左肩P | HELPER
              左肩 | CLAVICLE
                左肩C | HELPER
                  左腕 | UPPER_ARM
                    左腕捩 | TWIST
                      左ひじ | FOREARM
                        左手捩 | TWIST
                          左手首 | HAND
                            左ダミー | HELPER
                            左親指０ | THUMB
                              左親指１ | THUMB
                                左親指２ | THUMB
                            左人指１ | FINGER
                              左人指２ | FINGER
                            左小指１ | FINGER
        下半身 | PELVIS
          スカート0_0 | GENERIC
          左足 | THIGH
            左ひざ | SHANK
              左足首 | FOOT
                左つま先 | TOE
  左足ＩＫ | HELPER
    左つま先ＩＫ | HELPER
""",
)

MMD_TWINS = (
    (("左", "右"),),
    """
センター | HELPER
  上半身 | SPINE
    上半身2 | CHEST
      首 | NECK
        頭 | HEAD
      左肩 | CLAVICLE
        左腕 | UPPER_ARM
          左ひじ | FOREARM
            左手首 | HAND
  下半身 | PELVIS
    腰キャンセル左 | HELPER
      左足D | THIGH
        左ひざD | SHANK
          左足首D | FOOT
            左足先EX | TOE
    左足 | HELPER
      左ひざ | HELPER
        左足首 | HELPER
  左足IK親 | HELPER
    左足ＩＫ | HELPER
""",
)

HUMAN_IK = (
    (("Left", "Right"),),
    """
Character1_Reference | HELPER
  Character1_Hips | PELVIS
    Character1_LeftUpLeg | THIGH
      Character1_LeftUpLegRoll | TWIST
      Character1_LeftLeg | SHANK
        Character1_LeftFoot | FOOT
          Character1_LeftToeBase | TOE
    Character1_Spine | SPINE
      Character1_Spine1 | CHEST
        Character1_LeftShoulder | CLAVICLE
          Character1_LeftArm | UPPER_ARM
            Character1_LeftArmRoll | TWIST
            Character1_LeftForeArm | FOREARM
              Character1_LeftHand | HAND
                Character1_LeftHandThumb1 | THUMB
        Character1_Neck | NECK
          Character1_Head | HEAD
""",
)

_DAZ_WORDS = ("Thigh", "Shin", "Foot", "Toe", "Collar", "Shldr", "Forearm", "Hand", "Thumb", "Index")
DAZ = (
    tuple((f"l{word}", f"r{word}") for word in _DAZ_WORDS),
    """
hip | PELVIS
  pelvis | PELVIS
    lThighBend | THIGH
      lThighTwist | TWIST
        lShin | SHANK
          lFoot | FOOT
            lToe | TOE
  abdomenLower | SPINE
    abdomenUpper | SPINE
      chestLower | CHEST
        chestUpper | CHEST
          lCollar | CLAVICLE
            lShldrBend | UPPER_ARM
              lShldrTwist | TWIST
                lForearmBend | FOREARM
                  lForearmTwist | TWIST
                    lHand | HAND
                      lThumb1 | THUMB
                      lIndex1 | FINGER
          neckLower | NECK
            neckUpper | NECK
              head | HEAD
""",
)
