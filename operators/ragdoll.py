"""A whole ragdoll: making it and taking it away, checking it and its limits, its settings as profiles and presets."""

import bpy
from bpy_extras.io_utils import ExportHelper, ImportHelper

from ..core.blender import interface, preferences
from ..core.blender.languages import translated
from ..core.blender.physics import build, built, remove
from ..core.blender.settings.declare import choice, flag, menu, text
from ..core.blender.stack import stack_edits
from ..core.blender.tools import apply_transform, diagnose, profiles
from ..core.errors import RagdollError
from ..core.ragdoll import diagnosis
from .base import OnRagdoll, Operator, Unbaked

# Those whose remedy is an operator of its own, or nobody's but the user's, are not here.
REMEDIES = (
    (diagnosis.WORLD_DISABLED, "Switch On", "Switch the scene's rigid body world on"),
    (diagnosis.EXCLUDED, "Take In", "Take the ragdoll's collections into the view layer again"),
    (diagnosis.DISABLED, "Enable", "Have Blender pose the character, which may be hidden by its eye"),
    (diagnosis.GRAVITY_WEIGHT, "Set to 1", "Let gravity act on rigid bodies in full"),
    (diagnosis.DROPS_FRAMES, "Play Every Frame", "Let playback show every frame, however long it takes"),
    (diagnosis.REMAPPED, "Set to the Same", "Let each frame stand at its own time"),
    (diagnosis.OUTSIDE, "Fit Anew", "Forget what was edited of these bodies, and build anew"),
    (diagnosis.MASS_RATIO, "Automatic Masses", "Forget the own masses of these bodies, and build anew"),
    (diagnosis.NO_WAY_UP, "Let It Blend", "Have it get up by a blend, without hands and feet"),
    (diagnosis.TIME_SCALE, "Set to 1", "Let the bodies move at the animation's speed"),
    (diagnosis.TINY, "Merge", "Let tiny bodies ride on their parents' bodies, and build anew"),
    (diagnosis.SUBSTEPS, "Steps", "Raise the world's steps and the solver's iterations to what limits need"),
    (diagnosis.ITERATIONS, "Iterations", "Raise the world's steps and the solver's iterations to what limits need"),
)
MATCHES = (
    ("AUTO", "Name or Role", "By name where the rig has such a bone, else by what part of the body it is"),
    ("NAME", "Name", "Bones of the same name only"),
    ("ROLE", "Role", "Bones that are the same part of the body, whatever their names"),
)
MIRRORS = (
    ("NONE", "As It Is", "Left stays left"),
    ("SWAP", "Swap Sides", "Left and right change places"),
    ("LEFT_TO_RIGHT", "Left to Right", "The right side gets the left one's settings, mirrored"),
    ("RIGHT_TO_LEFT", "Right to Left", "The left side gets the right one's settings, mirrored"),
)


class ACTIVE_RAGDOLL_OT_build(Unbaked, bpy.types.Operator):
    """Give the selected armatures physical bodies; one that it has already is built anew, its settings are kept"""

    bones: choice("Bones", preferences.BONES, None, "Which bones get a body")

    def execute(self, context):
        """Build each; one that cannot be built does not stop the others."""
        objects = [obj for obj in interface.characters(context) if not obj.active_ragdoll.muted]
        made = []
        for obj in objects:
            # A recovery from before the last Remove gets its motion stack back, which was removed too.
            if stack_edits.gets_up_where_it_lies(obj) and not obj.active_ragdoll.is_ragdoll:
                try:
                    stack_edits.ensure(obj, interface.scene_of(obj, context))
                except RagdollError as error:
                    self.tell("WARNING", str(error))
        for obj, result in build.build_each(objects, context.scene, self.bones):
            if isinstance(result, RagdollError):
                self.tell("ERROR", str(result))
                stack_edits.drop_if_idle(obj)
                continue
            self.tell("INFO", f"'{obj.name}': {result.text()}")
            made.append(obj)
            if obj == objects[0]:  # what the sidebar shows; found before the scene is evaluated, else it would be twice
                diagnose.diagnose(obj, interface.scene_of(obj, context))
        return {"FINISHED"} if made else {"CANCELLED"}


class ACTIVE_RAGDOLL_OT_bind_pose_from_frame(Unbaked, bpy.types.Operator):
    """Let joints, limits, shapes and masses count from the animation's pose at this frame instead of the rest pose"""

    rest: flag("Rest Pose", "From the rest pose again", options={"SKIP_SAVE"})

    def act(self, context, obj):
        if self.rest:
            build.choose_bind_pose(obj)
            return "The rest pose is the bind pose again: build to see it"
        build.choose_bind_pose(obj, interface.scene_of(obj, context))
        return f"The bind pose is that of frame {context.scene.frame_current}: build to see it"


class ACTIVE_RAGDOLL_OT_remove(Operator, bpy.types.Operator, requires=(interface.ragdoll,)):
    """Take the ragdolls of the selected armatures away; they are as before, and keyframes that were baked stay"""

    left_over: flag("Left Over", "Only bodies whose character was deleted", options={"SKIP_SAVE"})

    @classmethod
    def why_not(cls, context):
        """Bodies whose character was deleted need no armature."""
        text = super().why_not(context)
        return text and ("" if built.orphans(context.scene) else text)

    def act(self, context, _obj):
        by_scene = {}
        for obj in () if self.left_over else interface.characters(context):
            if obj.active_ragdoll.is_ragdoll:
                by_scene.setdefault(interface.scene_of(obj, context), []).append(obj)
        if context.scene not in by_scene and built.orphans(context.scene):
            by_scene[context.scene] = []
        for scene, objects in by_scene.items():
            remove.remove_all(objects, scene)
            for obj in objects:
                stack_edits.drop_if_idle(obj)  # what only its recovery needed
                self.tell("INFO", f"Removed the ragdoll of '{obj.name}'")


class ACTIVE_RAGDOLL_OT_apply_transform(Unbaked, bpy.types.Operator, requires=(interface.not_in_edit_mode,)):
    """Apply location, rotation and scale to the bones; the character plays as before, its ragdoll is built anew"""

    location: flag("Location", None, True)
    rotation: flag("Rotation", None, True)
    scale: flag("Scale", None, True)

    def act(self, context, obj):
        parts = [part for part in apply_transform.PARTS if getattr(self, part)]
        self.warn(apply_transform.apply_transform(obj, interface.scene_of(obj, context), parts))
        return f"Applied the transform of '{obj.name}'"


class ACTIVE_RAGDOLL_OT_check_limits(OnRagdoll, bpy.types.Operator):
    """List the bones whose animation goes beyond their joints' limits, at which frames and by how much"""

    widen: flag("Widen", "Widen these limits to what the animation needs, and build anew so that they act")

    def act(self, context, obj):
        scene = interface.scene_of(obj, context)
        report = diagnose.check_limits(obj, scene, widen=self.widen)
        if self.widen and report.found:
            build.rebuild(obj, scene)
        self.tell("WARNING" if report.found and not self.widen else "INFO", f"'{obj.name}': {report.text()}")


class ACTIVE_RAGDOLL_OT_diagnose(Operator, bpy.types.Operator, requires=(interface.ragdoll,), bl_options={"REGISTER"}):
    """Look for what would make this ragdoll shake, jerk or stand still, and for remedies"""

    def act(self, context, obj):
        found = diagnose.diagnose(obj, interface.scene_of(obj, context))
        for finding in found:
            self.tell("INFO" if finding.severity == diagnosis.INFO else "WARNING", f"{finding.text}. {finding.remedy}")
        return None if found else f"'{obj.name}': nothing found that would make it unstable"


class ACTIVE_RAGDOLL_OT_remedy(OnRagdoll, bpy.types.Operator, label="Mend"):
    """Mend one of the findings of Diagnose"""

    kind: choice("Finding", REMEDIES)
    bones: text("Bones", "Whose bodies are meant, one in a line")

    @classmethod
    def description(cls, _context, properties):
        return translated(next((text for kind, _name, text in REMEDIES if kind == properties.kind), cls.__doc__))

    def act(self, context, obj):
        scene = interface.scene_of(obj, context)
        diagnose.remedy(obj, scene, self.kind, self.bones.splitlines())
        diagnose.diagnose(obj, scene)


class ProfileOperator(Unbaked):
    """Changes the settings of an armature."""

    def apply(self, obj, profile, how: str, mirror: str = "NONE") -> str:
        """Put a profile on a character; a line about what came of it."""
        applied = profiles.apply(obj, profile, how, mirror)
        self.warn(applied.notes)
        title = f"'{profile.name}'" if profile.name else "profile"
        return f"{title} on '{obj.name}': {applied.text()}"


class ACTIVE_RAGDOLL_OT_export_profile(Operator, bpy.types.Operator, ExportHelper, bl_options={"REGISTER"}):
    """Write everything set on the character and its bones to a file, for this rig or any other"""

    filename_ext = ".json"
    filter_glob: text(None, None, "*.json", options={"HIDDEN"})

    def act(self, _context, obj):
        path = bpy.path.abspath(self.filepath)
        profiles.write(path, profiles.collect(obj))
        return f"Settings of '{obj.name}' written to {path}"


class ACTIVE_RAGDOLL_OT_import_profile(ProfileOperator, bpy.types.Operator, ImportHelper):
    """Read the settings of the character and its bones from a file; wrong files change nothing"""

    filename_ext = ".json"
    filter_glob: text(None, None, "*.json", options={"HIDDEN"})
    match: choice("Bones By", MATCHES, None, "Which bone gets which settings")
    mirror: choice("Mirror", MIRRORS, None, "Exchange or copy sides")

    def act(self, _context, obj):
        return self.apply(obj, profiles.read(bpy.path.abspath(self.filepath)), self.match, self.mirror)


class ACTIVE_RAGDOLL_OT_apply_preset(ProfileOperator, bpy.types.Operator):
    """Give the character's bones the settings of a preset, by what part of the body they are"""

    name: choice("Preset", menu(lambda _self: profiles.presets()))

    def act(self, _context, obj):
        return self.apply(obj, profiles.preset(self.name), "AUTO")


class PresetDialog(Operator, bl_options={"REGISTER"}):
    """Asks for the name of a self-made preset."""

    def invoke(self, context, _event):
        return context.window_manager.invoke_props_dialog(self)


class ACTIVE_RAGDOLL_OT_add_preset(PresetDialog, bpy.types.Operator):
    """Keep everything set on the character and its bones as a preset of your own"""

    name: text("Name", "The preset's name in the menu")

    def act(self, _context, obj):
        profiles.add_own(self.name, profiles.collect(obj))
        return f"Preset '{self.name}' added"


_own = menu(lambda _self: profiles.presets()[len(profiles.PRESETS) :])


class OnOwnPreset(PresetDialog):
    """Acts on a self-made preset; needs no armature."""

    preset: choice("Preset", _own)

    @classmethod
    def why_not(cls, context):
        return "" if _own() else "There is no preset of your own"


class ACTIVE_RAGDOLL_OT_rename_preset(OnOwnPreset, bpy.types.Operator):
    """Give a preset of your own another name"""

    name: text("New Name", "The preset's name in the menu")

    def act(self, _context, _obj):
        old = self.preset  # the menu's items are others afterwards
        profiles.rename_own(old, self.name)
        return f"Preset '{old}' is '{self.name}' now"


class ACTIVE_RAGDOLL_OT_remove_preset(OnOwnPreset, bpy.types.Operator):
    """Delete the file of a preset of your own"""

    def act(self, _context, _obj):
        gone = self.preset
        profiles.remove_own(gone)
        return f"Preset '{gone}' removed"
