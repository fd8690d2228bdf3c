"""A character's graph of states as an entry of its motion stack."""

import math

from ..errors import RagdollError
from ..motion import stack
from ..motion.graph import Condition, State, Transition, graph_without_faults
from ..motion.graph_player import GraphInputs, GraphPlayer, SpaceSource
from ..motion.sources import ClipSource
from .layer_clips import Library
from .layer_entries import fingerprint, notes_of
from .live_settings import LiveSettings
from .ragdoll_readings import Readings
from .space_inputs import Facing, Mover
from .space_players import Spaces


def build(obj, rig):
    """For `motion_entries.BUILDERS`: one entry for the graph."""
    if obj.active_ragdoll.graph.enabled:
        yield "Graph", lambda: _entry(obj, rig)


def _entry(obj, rig) -> stack.Entry:
    graph = StateGraph(obj, rig)
    return stack.Entry("Graph", stack.GRAPH, graph, graph.read, keeps_state=True, refresh=graph.refresh)


class StateGraph:
    """Solver that follows the settings: made anew when an action that it plays is edited, replaced or deleted.

    Attributes:
        messages: what is wrong with states, parameters or actions, by name.
    """

    def __init__(self, obj, rig) -> None:
        self._obj, self._rig = obj, rig
        self.messages: dict[str, str] = {}
        self._make()

    def _make(self) -> None:
        obj = self._obj
        settings = obj.active_ragdoll.graph
        self._made_of = fingerprint(obj)
        self._live = LiveSettings(obj)
        for name in ("graph", "blend_spaces"):
            self._live.carry(name)
        self._library = Library(obj, self._rig)
        facing = Facing(self._library)
        self._spaces = Spaces(obj, self._library, self._live, facing)
        self._problems: dict[str, str] = {}
        self._sources: dict[str, SpaceSource] = {}
        states = [State(state.name, self._source(state)) for state in settings.states]
        graph, faults = graph_without_faults(
            obj.name,
            {p.name: _number(float(p.on) if p.kind == "BOOL" else p.value) for p in settings.parameters},
            states,
            [_transition(t) for t in settings.transitions],
            self._library.fps,
        )
        for number, fault in enumerate(faults, 1):
            self._problems["Graph" if number == 1 else f"Graph ({number})"] = fault
        self._player = GraphPlayer(graph, self._sources)
        speed = any(p.read == "SPEED" for p in settings.parameters)
        self._mover = Mover("Graph", obj, facing.pelvis(), facing) if speed else None
        contacts = [p.bone for p in settings.parameters if p.read == "RAGDOLL_CONTACT"]
        self._readings = Readings(obj, contacts) if any("RAGDOLL" in p.read for p in settings.parameters) else None
        self._problems |= notes_of(self._library, self._spaces)

    def _source(self, state):
        """What a state plays; None, the pose below, where that cannot be made."""
        try:
            if state.source == "CLIP":
                return ClipSource(
                    self._library.clip(state, cycle=state.playback == "LOOP"), state.speed, state.playback
                )
            if state.source == "BLEND_SPACE":
                key, player = self._spaces.player(state.blend_space)
                return self._sources.setdefault(key, SpaceSource(player))
        except RagdollError as error:
            self._problems[f'State "{state.name}"'] = str(error)
        return None

    def refresh(self) -> bool:
        """Follow edits of actions; whether they change what is played."""
        if fingerprint(self._obj) == self._made_of:
            return False
        before = self._library
        self._make()
        return not self._library.plays_as(before)

    def read(self, places, _pose) -> GraphInputs:
        """What the graph needs at the frame to come."""
        live = self._live.settings("graph").graph
        spaces, unread = self._spaces.read(places)
        given = self._readings.at(places.scene, places.frame) if self._readings is not None else {}
        parameters = {}
        for own in live.parameters:
            if own.read == "SPEED":
                parameters[own.name] = self._mover.speed(places)
            elif own.read == "RAGDOLL_CONTACT":
                parameters[own.name] = given.get(f"{own.read} {own.bone}", 0.0)
            elif own.read != "VALUE":
                parameters[own.name] = given.get(own.read, 0.0)
            else:
                parameters[own.name] = float(own.on) if own.kind == "BOOL" else own.value
        return GraphInputs(places.frame, parameters, spaces, live.weight, unread)

    def apply(self, rig, pose, inputs, state, seconds) -> tuple:
        """See `GraphPlayer.apply`."""
        after = self._player.apply(rig, pose, inputs, state, seconds)
        self.messages = self._problems | self._player.messages
        return after

    def weights(self, state) -> list[tuple[str, float]]:
        """States that are shown at a recorded state of the graph, and their shares."""
        return self._player.graph.weights(state.graph) if state is not None else []

    def point(self, state, name: str) -> tuple | None:
        """The current point of a blend space at a recorded state, None where no state plays it."""
        return state.spaces[name].at if state is not None and name in state.spaces else None


def _number(value: float) -> float:
    """A parameter's default; of what is not a number, 0: it is told when it is read."""
    return value if math.isfinite(value) else 0.0


def _transition(settings) -> Transition:
    conditions = tuple(Condition(c.parameter, c.compare, c.value) for c in settings.conditions)
    return Transition(settings.origin, settings.target, conditions, settings.blend_time)
