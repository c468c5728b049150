"""The Gradio application of a run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from askfirst.demo import pieces
from askfirst.demo.exhibit import BASE, Exhibit
from askfirst.demo.talk import Talk, chat, judged
from askfirst.desk import SPLITS, EpisodeOver, Session, verdict_on
from askfirst.errors import AskfirstError, InputError
from askfirst.rollout import MAX_TURNS
from askfirst.store import plain
from askfirst.values import Scenario

ANY = "all"
# As long as what is said: a box that scrolls for itself needs a mouse. What models say is text, not markup.
CHAT: Mapping[str, Any] = {"height": None, "min_height": 160, "render_markdown": False, "buttons": []}
CLIENT = """from gradio_client import Client

demo = Client("{url}")
print(demo.predict("dev", 0, api_name="/task")["request"])
print(demo.predict("dev", 0, [{reply!r}], api_name="/play"))"""
# The fonts are those of the system: nothing is fetched from elsewhere.
THEME = {
    "primary_hue": "blue",
    "neutral_hue": "slate",
    "font": ("system-ui", "sans-serif"),
    "font_mono": ("ui-monospace", "monospace"),
}


def launch(folder: Path, host: str | None = None, port: int | None = None, *, wait: bool = True) -> Any:
    """Serve the demo of a run; returns the running application, after its end where `wait`.

    Without a host it listens to this machine alone, unless the variables that Gradio knows say otherwise, as they do
    where it is hosted. Raises InputError for what is no run folder, and where it cannot listen.
    """
    app = build(Exhibit.of(folder))
    try:
        app.launch(
            server_name=host,
            server_port=port,
            share=False,
            quiet=True,
            prevent_thread_lock=True,
            ssr_mode=False,
            footer_links=["api"],
            theme=gr.themes.Default(**THEME),
            css_paths=[Path(__file__).parent / "demo.css"],
        )
    except OSError as error:
        where = f"{host or '127.0.0.1'}:{port or ''}"
        raise InputError(f"cannot listen: {error}", where=where, hint="choose another --port") from error
    print(f"demo      {app.local_url}", flush=True)
    if wait:
        app.block_thread()
    return app


def build(exhibit: Exhibit) -> gr.Blocks:
    """The application, not yet served. Raises InputError for records that are spoilt."""
    with gr.Blocks(title=f"{exhibit.plan.title} · askfirst", analytics_enabled=False, fill_width=True) as app:
        gr.HTML(pieces.heading(exhibit.plan.title))
        with gr.Tab("Results"):
            gr.HTML(pieces.verdict(exhibit.records))
        with gr.Tab("Replay"):
            _replay(exhibit)
        with gr.Tab("Live chat"):
            _live(exhibit)
        with gr.Tab("Environment"):
            _environment(exhibit)
    return app


def _replay(exhibit: Exhibit) -> None:
    entries = exhibit.rollouts
    if not entries:
        gr.HTML("No rollout is on record yet.")
        return

    def matching(source: str, outcome: str) -> list[tuple[str, int]]:
        wanted = {"source": source, "outcome": outcome}
        held = [(k, e) for k, e in enumerate(entries) if all(v in (ANY, e[name]) for name, v in wanted.items())]
        return [(pieces.choice(entry), k) for k, entry in held]

    def narrowed(source: str, outcome: str) -> Any:
        found = matching(source, outcome)
        return gr.Dropdown(choices=found, value=found[0][1] if found else None)

    def moved(source: str, outcome: str, now: int | None, by: int) -> int | None:
        places = [place for _, place in matching(source, outcome)]
        at = places.index(now) if now in places else 0
        return places[max(0, min(len(places) - 1, at + by))] if places else None

    def show(now: int | None) -> str:
        return pieces.rollout(entries[now]) if now is not None else "No rollout fits."

    with gr.Row():
        source = gr.Dropdown([ANY, *dict.fromkeys(e["source"] for e in entries)], value=ANY, label="Source")
        outcome = gr.Dropdown([ANY, *dict.fromkeys(e["outcome"] for e in entries)], value=ANY, label="Outcome")
    chosen = gr.Dropdown(matching(ANY, ANY), value=0, label="Rollout")
    with gr.Row():
        before, after = gr.Button("Previous"), gr.Button("Next")
    shown = gr.HTML(show(0))
    for each in (source, outcome):
        each.change(narrowed, [source, outcome], chosen, api_visibility="private")
    for button, by in ((before, -1), (after, 1)):
        step = gr.State(by)
        button.click(moved, [source, outcome, chosen, step], chosen, api_visibility="private")
    chosen.change(show, chosen, shown, api_visibility="private")


def _live(exhibit: Exhibit) -> None:
    drawn, talks = gr.State(None), gr.State(())
    with gr.Row():
        split = gr.Dropdown(list(reversed(SPLITS)), value="dev", label="Split")
        number = gr.Number(0, label="Task number", precision=0, minimum=0)
        draw = gr.Button("Draw this task")
    request = gr.Textbox(label="Request: draw a task, or write your own", lines=6, max_lines=14)
    with gr.Accordion("What only the user of the drawn task knows", open=False):
        hidden = gr.JSON(label="hidden from the models")
    with gr.Row():
        temperature = gr.Slider(0.0, 1.5, 0.0, step=0.1, label="Temperature; 0 is how checkpoints are evaluated")
        seed = gr.Number(0, label="Seed", precision=0)
        ask = gr.Button("Ask", variant="primary")
    chats, notes = [], []
    with gr.Row():
        for name in (BASE, *([exhibit.checkpoint[0]] if exhibit.checkpoint else [])):
            with gr.Column(min_width=280):
                chats.append(gr.Chatbot(label=name, **CHAT))
                notes.append(gr.HTML())
    with gr.Row(visible=getattr(exhibit.desk.env, "MAX_TURNS", MAX_TURNS) > 1):
        words = gr.Textbox(label="Your answer, to those that asked; leave it empty and the simulated user answers")
        reply = gr.Button("Answer")
    shown = [talks, *chats, *notes]

    def drawing(split: str, number: float | None) -> tuple[Any, ...]:
        with _told():
            scenario = exhibit.task(split, _whole(number))
            return scenario, exhibit.request(scenario), plain(scenario.hidden)

    def asking(text: str, scenario: Scenario | None, heat: float, seed: float | None) -> Iterator[list[Any]]:
        with _told():
            yield [(), *([] for _ in chats), *("opening the models …" for _ in notes)]
            yield from _turns(exhibit, exhibit.begin(text, scenario), heat, _whole(seed))

    def answering(talks: Sequence[Talk], words: str, heat: float, seed: float | None) -> Iterator[list[Any]]:
        with _told():
            if not any(talk.waits for talk in talks):
                raise InputError("nobody waits for an answer")
            yield from _turns(exhibit, exhibit.answer(talks, words), heat, _whole(seed))

    # A policy is not for two threads at once, so everybody's turns are taken one after the other.
    alone: dict[str, Any] = {"concurrency_id": "models", "concurrency_limit": 1, "api_visibility": "private"}
    draw.click(drawing, [split, number], [drawn, request, hidden], api_visibility="private")
    ask.click(asking, [request, drawn, temperature, seed], shown, **alone)
    for event in (reply.click, words.submit):
        event(answering, [talks, words, temperature, seed], shown, **alone).then(lambda: "", None, words)


def _turns(exhibit: Exhibit, talks: Sequence[Talk], temperature: float, seed: int) -> Iterator[list[Any]]:
    """What both sides show while they speak, and after it."""
    sides = exhibit.speakers
    now = tuple(talks)
    for now in exhibit.speak(talks, float(temperature), seed):
        yield [now, *(chat(talk.messages) for talk in now), *("…" for _ in now)]
    scores = [judged(exhibit.desk.scorer, talk) for talk in now]
    words = [pieces.reply(exhibit.stage, s.policy, t, j) for s, t, j in zip(sides, now, scores, strict=True)]
    yield [now, *(chat(talk.messages) for talk in now), *words]


def _environment(exhibit: Exhibit) -> None:
    session = gr.State(None)
    gr.HTML("<p>Play the assistant yourself: read the task, reply in the protocol, see what the reward says.</p>")
    with gr.Row():
        split = gr.Dropdown(list(reversed(SPLITS)), value="dev", label="Split")
        number = gr.Number(0, label="Task number", precision=0, minimum=0)
        start, honest = gr.Button("Start", variant="primary"), gr.Button("Play an honest episode")
    said = gr.Chatbot(label="Episode", **CHAT)
    with gr.Row():
        words = gr.Textbox(label="Your reply as the assistant", lines=2)
        say = gr.Button("Say")
    result = gr.HTML()

    def starting(split: str, number: float | None) -> tuple[Any, ...]:
        with _told():
            opened = exhibit.desk.open(exhibit.task(split, _whole(number)))
            return opened, chat(opened.messages), ""

    def saying(opened: Session | None, words: str) -> tuple[Any, ...]:
        with _told():
            if opened is None:
                raise InputError("no episode has begun", hint="press Start")
            opened.say(words)
            return opened, chat(opened.messages), _outcome(opened)

    def shown(split: str, number: float | None) -> tuple[Any, ...]:
        with _told():
            scenario = exhibit.task(split, _whole(number))
            opened = exhibit.desk.open(scenario)
            for text in honest_replies(exhibit, scenario):
                opened.say(text)
            return opened, chat(opened.messages), _outcome(opened)

    outputs = [session, said, result]
    start.click(starting, [split, number], outputs, api_visibility="private")
    honest.click(shown, [split, number], outputs, api_visibility="private")
    for event in (say.click, words.submit):
        event(saying, [session, words], outputs, api_visibility="private").then(lambda: "", None, words)
    _interface(exhibit)


def _interface(exhibit: Exhibit) -> None:
    """The same for programs: two calls without state, and what a reply may be."""

    def task(split: str, number: int) -> dict[str, Any]:
        """The request and the rules of a task."""
        with _told():
            scenario = exhibit.task(split, _whole(number))
            return {"request": exhibit.request(scenario), "system_prompt": exhibit.stage.system}

    def play(split: str, number: int, replies: list[str]) -> dict[str, Any]:
        """The verdict on an episode in which the assistant says these replies, one a turn."""
        with _told():
            if not replies or not all(isinstance(each, str) for each in replies):
                raise InputError("an episode has at least one reply, and each is a text")
            scenario = exhibit.task(split, _whole(number))
            score = exhibit.desk.score(scenario, replies)
            return {**verdict_on(scenario, score), "total": score.total}

    gr.api(task, api_name="task")
    gr.api(play, api_name="play")
    tools = getattr(exhibit.desk.env, "TOOLS", ())
    example = honest_replies(exhibit, exhibit.task("dev", 0))[0]
    with gr.Accordion("The interface, for programs", open=False):
        gr.Code(CLIENT.format(url="http://127.0.0.1:7860", reply=example), language="python", label="gradio_client")
        gr.Code(exhibit.stage.system, label="the rules that a model is given", wrap_lines=True)
        if tools:
            gr.JSON(plain([tool.function() for tool in tools]), label="tools and the schemas of their arguments")


def honest_replies(exhibit: Exhibit, scenario: Scenario) -> tuple[str, ...]:
    """What an honest assistant says to a scenario, one text a turn."""
    shown = next(each for each in exhibit.desk.env.demonstrations(scenario) if not each.guess)
    return (shown.reply, *shown.then)


def _outcome(opened: Session) -> str:
    return f'<div class="af">{pieces.score(opened.score())}</div>' if opened.over else ""


def _whole(value: object) -> int:
    """A number of a form as a whole one. Raises InputError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise InputError(f"expected a whole number, found {value!r}")
    return int(value)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Within this context an error that was raised on purpose reaches the viewer in its own words."""
    try:
        yield
    except (AskfirstError, EpisodeOver) as error:
        raise gr.Error(str(error), print_exception=False) from error
