"""Settings of a body that was edited by hand: a part of the bone's settings."""

from ..ragdoll.compound import MOST_PARTS
from ..ragdoll.convex import MOST_POINTS
from .setting_options import (
    FIXED,
    BoolProperty,
    FloatVectorProperty,
    IntVectorProperty,
    StringProperty,
    layout_changed,
)


class EditedBody:
    """Place and size of a body in the bone's frame and in the armature's own units."""

    shape_by_user: BoolProperty(
        name="Own Size",
        description="The body has the size and the place set here, or by hand in the viewport, "
        "instead of automatic ones",
        default=False,
        options=FIXED,
        update=layout_changed,
    )
    half_extents: FloatVectorProperty(
        name="Half Size",
        description="Half of the body's size along its own X, Y and Z, in the armature's units; "
        "a capsule lies along Z and has its radius in X and Y",
        size=3,
        subtype="XYZ",
        min=0.0,
        precision=4,
        options=FIXED,
        update=layout_changed,
    )
    body_location: FloatVectorProperty(
        name="Place",
        description="Middle of the body from the bone's head, in the bone's frame and the armature's units",
        size=3,
        subtype="XYZ",
        precision=4,
        options=FIXED,
        update=layout_changed,
    )
    body_rotation: FloatVectorProperty(
        name="Turn",
        description="Rotation from the bone's to the body's frame",
        size=4,
        subtype="QUATERNION",
        default=(1.0, 0.0, 0.0, 0.0),
        options=FIXED,
        update=layout_changed,
    )
    body_points: StringProperty(
        description="Corners of a convex hull, or of a compound's one after the other, in the body's frame "
        "and the armature's units, as JSON",
        options=FIXED,
    )
    body_pieces: IntVectorProperty(
        description="How many of the corners each piece of a compound has; all 0 for other shapes",
        size=MOST_PARTS,
        min=0,
        max=MOST_POINTS,
        options=FIXED,
    )
