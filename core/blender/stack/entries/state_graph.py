"""The graph of states above clips and blend spaces: its settings, and the step that plays it."""

import math

import bpy

from ....errors import RagdollError
from ....motion.graph import ClipSource, Condition, Graph, GraphInputs, GraphPlayer, SpaceSource, State, Transition
from ...run.records import readings
from ...settings.declare import SHOT, STACK, record, settings
from ...settings.lists import ActionChoice, Named, Playback, choice, flag, items, named, number, share, text
from ..blend_spaces import FromSettings, Mover, states_of
from . import Kind

# fmt: off

KINDS = (("FLOAT", "Number", "A number"), ("BOOL", "On or Off", "Counts as 1 and 0"))
READS = (
    ("VALUE", "Value", "The value beside, which can be keyed and driven by any property"),
    ("SPEED", "Speed", "Measured: how fast the character's animation moves over the ground [m/s]"),
    ("RAGDOLL_STATE", "Ragdoll State", "Of the ragdoll after the last frame: 0 animated, 1 active, 2 limp, 3 settling, "
        "4 recovering, 5 blending"),
    ("RAGDOLL_SPEED", "Ragdoll Speed", "How fast the simulated body moved over the last frame [m/s]"),
    ("RAGDOLL_HIT", "Ragdoll Hit", "The largest speed that anything gave a body over the last frame, beyond gravity "
        "and its animation [m/s]"),
    ("RAGDOLL_CONTACT", "Ragdoll Contact", "1 while a body (of the bone beside, or any) touches something else"),
)
STATE_SOURCES = (
    ("NONE", "Pose Below", "The character's own animation"),
    ("CLIP", "Clip", "An action"),
    ("BLEND_SPACE", "Blend Space", "One of the character's blend spaces"),
)
COMPARE = (
    (">", ">", "Above"), (">=", "\u2265", "Above or equal"), ("<", "<", "Below"),
    ("<=", "\u2264", "Below or equal"), ("==", "=", "Equal"), ("!=", "\u2260", "Other than"),
)  # fmt: skip


class ActiveRagdollParameter(Named, bpy.types.PropertyGroup):
    """A value that conditions ask for."""

    name: named("By which conditions refer to it", "speed", "graph.parameters")
    kind: choice("Kind", KINDS, "FLOAT", "A number, or on and off")
    read: choice("Read", READS, "VALUE", "Where the value comes from")
    value: number("Value", "Key it, or drive it by any property", keyed=True, needs=STACK)
    on: flag("On", "Key it, or drive it by any property", keyed=True, needs=STACK)
    bone: text("Bone", "Bone whose body's contact counts; empty: any")


class ActiveRagdollGraphState(ActionChoice, Playback, Named, bpy.types.PropertyGroup):
    """A state and what it plays."""

    name: named("By which transitions refer to it", "State", "graph.states")
    source: choice("Source", STATE_SOURCES, "CLIP", "What the state plays")
    blend_space: text("Blend Space", "Name of the blend space", refers="blend_spaces")


class ActiveRagdollCondition(bpy.types.PropertyGroup):
    """A comparison of a parameter with a value."""

    parameter: text("Parameter", "A parameter, time_in_state [s] or phase [cycles of the clip]",
        refers="graph.parameters")
    compare: choice("Compare", COMPARE, ">", "How")
    value: number("Value", "On and off are 1 and 0", 0.5)


class ActiveRagdollTransition(bpy.types.PropertyGroup):
    """A way from one state to another."""

    origin: text("From", "State that it leads from; *: any other", "*", refers="graph.states")
    target: text("To", "State that it leads to", refers="graph.states")
    blend_time: number("Blend", "Seconds until the new state is shown alone", 0.2, min=0.0, soft_max=2.0,
        unit="TIME_ABSOLUTE")
    conditions: items(ActiveRagdollCondition, "condition_index")


class ActiveRagdollGraph(bpy.types.PropertyGroup):
    """States above clips and blend spaces."""

    enabled: flag(None, "The graph gives the pose that layers are put on", False)
    weight: share("Weight", "0 is the character's own animation, 1 the graph's")
    parameters: items(ActiveRagdollParameter, "parameter_index")
    states: items(ActiveRagdollGraphState, "state_index")
    transitions: items(ActiveRagdollTransition, "transition_index")
    record: record(str, "What the ragdoll gave the parameters in the simulated shot, as JSON", SHOT)


# fmt: on


class StateGraph(FromSettings, GraphPlayer):
    """The graph of the settings."""

    def _fill(self) -> None:
        settings = self._obj.active_ragdoll.graph
        sources: dict[str, SpaceSource] = {}
        asked = ([Condition(c.parameter, c.compare, c.value) for c in t.conditions] for t in settings.transitions)
        graph = Graph(
            self._obj.name,
            {p.name: _value(p) if math.isfinite(_value(p)) else 0.0 for p in settings.parameters},
            [State(state.name, self._source(state, sources)) for state in settings.states],
            [Transition(t.origin, t.target, tuple(of), t.blend_time) for t, of in zip(settings.transitions, asked)],
            self._library.fps,
        )
        for count, fault in enumerate(graph.faults, 1):
            self.problems["Graph" if count == 1 else f"Graph ({count})"] = fault
        library, speed = self._library, any(p.read == "SPEED" for p in settings.parameters)
        self._mover = Mover("Graph", self._obj, library.pelvis(), library) if speed else None
        contacts = [p.bone for p in settings.parameters if p.read == "RAGDOLL_CONTACT"]
        self._contacts = contacts if any("RAGDOLL" in p.read for p in settings.parameters) else None
        GraphPlayer.__init__(self, graph, sources)

    def _source(self, state, spaces: dict):
        """What a state plays; None, for the pose below, if it cannot be made. Its spaces are added to `spaces`."""
        try:
            if state.source == "CLIP":
                clip = self._library.clip(state, cycle=state.playback == "LOOP")
                return ClipSource(clip, state.speed, state.playback)
            if state.source == "BLEND_SPACE":
                key, player = self._spaces.player(state.blend_space)
                return spaces.setdefault(key, SpaceSource(player))
        except RagdollError as error:
            self.problems[f'State "{state.name}"'] = str(error)
        return None

    def read(self, reader, _pose) -> GraphInputs:
        live, contacts = reader.settings.graph, self._contacts
        given = {} if contacts is None else readings(self._obj, contacts, reader.scene, reader.frame)
        parameters = {}
        for own in live.parameters:
            if own.read == "SPEED":
                parameters[own.name] = self._mover.speed(reader)
            elif own.read != "VALUE":
                kind = f"{own.read} {own.bone}" if own.read == "RAGDOLL_CONTACT" else own.read
                parameters[own.name] = given.get(kind, 0.0)
            else:
                parameters[own.name] = _value(own)
        return GraphInputs(reader.frame, parameters, self._spaces.read(reader), live.weight)

    def point(self, state, name: str) -> tuple | None:
        """The point of a blend space at a recorded state; None if no state plays it."""
        return state.spaces[name].at if state is not None and name in state.spaces else None


def _value(parameter) -> float:
    return float(parameter.on) if parameter.kind == "BOOL" else parameter.value


def shown_states(obj, frame: int) -> list[tuple[str, float]]:
    """The states of the graph that are shown at a frame, with their shares."""
    for step, state in states_of(obj, frame):
        if isinstance(step, StateGraph) and state is not None:
            return step.graph.weights(state.graph)
    return []


class StateGraphKind(Kind):
    """The graph is one step."""

    identifier, label, icon, place = "GRAPH", "Graph", "NODETREE", 10
    step = StateGraph

    def declared(self):
        return {"graph": settings(ActiveRagdollGraph)}

    def acts(self, obj) -> bool:
        return obj.active_ragdoll.graph.enabled


KIND = StateGraphKind()
