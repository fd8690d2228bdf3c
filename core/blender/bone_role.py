"""The role of a bone, as a setting; a base of the property group on pose bones."""

from ..anatomy.roles import GENERIC, ROLES
from . import runtime
from .setting_options import BoolProperty, EnumProperty


def _role_edited(self, _context) -> None:
    if not runtime.STATE.building:
        self.role_by_user = True
    runtime.settings_changed(self.id_data, layout=True)


class BoneRole:
    """Set by a build from what was recognised, unless the user has chosen."""

    role: EnumProperty(
        name="Role",
        description="What part of a body the bone is; masses, limits and profiles go by it",
        items=[(role, role.replace("_", " ").title(), "") for role in ROLES],
        default=GENERIC,
        options=set(),
        update=_role_edited,
    )
    role_by_user: BoolProperty(description="The role was chosen by hand; a new build keeps it", options=set())
