"""Sessions, models and sampling clients: what each request of the Tinker API does. Runs on the server's event loop.

Training requests of a model are done in the order of their numbers, whatever order they come in, and a request that
comes again, because its answer was lost, is not done again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tinker import types
from tinker.types.shared.untyped_api_future import UntypedAPIFuture

from askfirst.backends.hf.policy import HfPolicy
from askfirst.errors import InputError
from askfirst.serve.tinker import shelf, wire
from askfirst.serve.tinker.engine import Drawing, Engine, seeds_of
from askfirst.serve.tinker.held import Busy, Gone, Limits, Model, Sampler, Served, Session
from askfirst.serve.tinker.jobs import PROTO, Answer, Job, Work
from askfirst.store import seed_from


class Service:
    """`clock` gives seconds that only grow."""

    def __init__(
        self,
        engine: Engine,
        served: Served,
        kept: shelf.Shelf,
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.engine, self.served, self.shelf, self.limits = engine, served, kept, limits
        self.work = Work()
        self._clock = clock
        self._sessions: dict[str, Session] = {}
        self._models: dict[str, Model] = {}
        self._samplers: dict[str, Sampler] = {}

    def create_session(self, request: types.CreateSessionRequest) -> types.CreateSessionResponse:
        """A new session; the SDK logs what it says."""
        if len(self._sessions) >= self.limits.sessions:
            raise InputError(f"{len(self._sessions)} sessions are open, which is all that this server holds")
        session = Session(self.shelf.next_session(), self._clock(), _texts(request.user_metadata))
        self._sessions[session.id] = session
        said = "adapters are trained on all linear layers except the unembedding, scaled by 32/rank"
        return types.CreateSessionResponse(session_id=session.id, info_message=f"askfirst: {said}")

    def heartbeat(self, session_id: str) -> None:
        """The client is there."""
        self.session(session_id)

    def session(self, session_id: str) -> Session:
        """A session, which is thereby seen. Raises Gone."""
        session = self._sessions.get(session_id)
        if session is None:
            raise Gone(
                f"session {session_id!r} has ended, or is of an earlier run of this server",
                hint="open a new ServiceClient and go on from a saved state",
            )
        session.seen = self._clock()
        return session

    def finish(self, session_id: str) -> None:
        """End a session; what it saved by name stays."""
        if self._sessions.pop(session_id, None) is None:
            return
        for held in (self._models, self._samplers):
            for name in [name for name in held if name.startswith(f"{session_id}:")]:
                del held[name]
        self.work.forget(f"{session_id}:")
        end = Job(f"{session_id}:end", lambda _: [self._ended(session_id)])
        self.work.submit(end)

    def end_idle(self) -> None:
        """End the sessions that have said nothing for too long."""
        now = self._clock()
        for session in list(self._sessions.values()):
            if now - session.seen > self.limits.idle_seconds:
                self.finish(session.id)

    def create_model(self, request: types.CreateModelRequest) -> UntypedAPIFuture:
        """A fresh adapter over the base model."""
        session = self.session(request.session_id)
        model_id = f"{session.id}:train:{request.model_seq_id}"
        lora = request.lora_config or types.LoraConfig(rank=32)
        seed = seed_from("tinker", model_id) if lora.seed is None else lora.seed
        about = shelf.About(1, request.base_model, self.served.files, lora.rank, _texts(request.user_metadata))
        model = Model(model_id, about)

        def make(_: Any) -> list[Answer]:
            self._check_new(request.base_model, request.optimizer_config)
            if not (lora.train_mlp and lora.train_attn):
                raise InputError("this server adapts all linear layers: train_mlp and train_attn must be true")
            if not 0 <= seed < 2**63:
                raise InputError(f"seed is {seed}, which must be from 0 to 2^63 − 1")
            self._place(model, self.engine.open(lora.rank, seed))
            return [Answer.of({"type": "create_model", "model_id": model_id})]

        return self._first(model, Job(f"{model_id}:create", make))

    def load_weights(self, request: types.LoadWeightsRequest) -> UntypedAPIFuture:
        """Weights, and with `optimizer` the optimiser, of a checkpoint: onto a model, or as a new one."""
        if request.model_id is not None:
            known = self._model(request.model_id)
            load = partial(self._load, known, request)
            return self._in_turn(known, request.seq_id, lambda: load(self._there(known)))
        if request.session_id is None or request.model_seq_id is None:
            raise InputError("load_weights needs a model_id, or a session_id and a model_seq_id")
        session = self.session(request.session_id)
        model_id = f"{session.id}:train:{request.model_seq_id}"
        place = shelf.Place.parse(request.path)
        about = self.shelf.find(place)[1].about
        metadata = _texts(request.user_metadata) if request.user_metadata else about.user_metadata
        model = Model(model_id, shelf.About(1, request.base_model or about.base_model, about.base_files, about.rank,
                                            metadata))  # fmt: skip

        def make(_: Any) -> list[Answer]:
            self._check_new(model.about.base_model, request.optimizer_config)
            policy = self.engine.open(about.rank, 0)
            answer = self._load(model, request, policy)
            self._place(model, policy)
            return [answer]

        return self._first(model, Job(f"{model_id}:create", make))

    def run_pass(self, body: bytes) -> UntypedAPIFuture:
        """A forward pass, or a forward and a backward one."""
        request = wire.read_pass(body)
        model = self._model(request.model_id)

        def run() -> Answer:
            return Answer(self.engine.run_pass(self._there(model), request), PROTO)

        return self._in_turn(model, request.seq_id, run)

    def optim_step(self, request: types.OptimStepRequest) -> UntypedAPIFuture:
        """One step of Adam."""
        model, params = self._model(request.model_id), request.optim_params

        def run() -> Answer:
            if not isinstance(params, types.AdamParams):
                raise InputError(f"the optimiser {params.type!r} is not offered: this server has Adam")
            return Answer.of(self.engine.step(self._there(model), params))

        return self._in_turn(model, request.seq_id, run)

    def save_weights(self, request: types.SaveWeightsRequest) -> UntypedAPIFuture:
        """Keep weights and optimiser under a name."""
        model = self._model(request.model_id)
        place = shelf.Place(model.id, shelf.TRAINING, request.path or f"state-{request.seq_id}")

        def run() -> Answer:
            record = self.shelf.record(model.about, request.ttl_seconds, request.user_metadata)
            self.shelf.put(place, record, self._there(model).save, request.overwrite)
            return Answer.of({"type": "save_weights", "path": place.uri})

        return self._in_turn(model, request.seq_id, run)

    def save_weights_external(self, request: types.SaveWeightsExternalRequest) -> UntypedAPIFuture:
        """Keep the adapter in the format of PEFT, to be downloaded."""
        model = self._model(request.model_id)
        place = shelf.Place(model.id, shelf.EXTERNAL, request.path)

        def run() -> Answer:
            if request.age_encryption_recipients:
                raise InputError("age_encryption_recipients are not offered by this server")
            record = self.shelf.record(model.about, request.ttl_seconds, None)
            self.shelf.put(place, record, self._there(model).save_weights)
            return Answer.of({"type": "save_weights_external", "path": place.uri, "size_bytes": self.shelf.size(place)})

        return self._in_turn(model, request.seq_id, run)

    def save_weights_for_sampler(self, request: types.SaveWeightsForSamplerRequest) -> UntypedAPIFuture:
        """Keep the weights under a name, or pass them on to a sampling client of this session."""
        model = self._model(request.model_id)

        def named() -> Answer:
            place = shelf.Place(model.id, shelf.SAMPLER, str(request.path))
            record = self.shelf.record(model.about, request.ttl_seconds, request.user_metadata)
            self.shelf.put(place, record, self._there(model).save_weights)
            return Answer.of({"type": "save_weights_for_sampler", "path": place.uri})

        def passing() -> Answer:
            folder = self.shelf.pass_on(model.id, str(request.seq_id), self._there(model).save_weights)
            name = f"{model.id.partition(':')[0]}:sample:{request.sampling_session_seq_id}"
            self._samplers[name] = Sampler(name, model.about.base_model, folder, None)
            return Answer.of({"type": "save_weights_for_sampler", "sampling_session_id": name})

        return self._in_turn(model, request.seq_id, passing if request.path is None else named)

    def create_sampling_session(
        self, request: types.CreateSamplingSessionRequest
    ) -> types.CreateSamplingSessionResponse:
        """A sampling client of the base model, or of saved weights."""
        session = self.session(request.session_id)
        folder, base = None, request.base_model
        if request.model_path is not None:
            folder, record = self.shelf.find(shelf.Place.parse(request.model_path))
            self._check_files(record.about)
            base = base or record.about.base_model
        self._check_name(base)
        name = f"{session.id}:sample:{request.sampling_session_seq_id}"
        self._samplers[name] = Sampler(name, str(base), folder, request.model_path)
        return types.CreateSamplingSessionResponse(sampling_session_id=name)

    def join_sampling_session(self, sampler_id: str) -> int:
        """A number for a copy of a sampling client, its own among them."""
        session = self.session(self.sampler(sampler_id).id.partition(":")[0])
        session.joined += 1
        return session.joined

    def sampler(self, sampler_id: str) -> Sampler:
        """A sampling client's model. Raises Gone."""
        self.session(sampler_id.partition(":")[0])
        if sampler_id not in self._samplers:
            raise Gone(f"no sampling session is called {sampler_id!r}")
        return self._samplers[sampler_id]

    def sample(self, request: types.SampleRequest) -> UntypedAPIFuture:
        """Completions of a prompt, and logprobs of it. Raises Busy where too many wait."""
        if request.sampling_session_id is None or request.seq_id is None:
            raise InputError("asample needs a sampling_session_id and a seq_id")
        sampler = self.sampler(request.sampling_session_id)
        name = f"{sampler.id}:{request.seq_id}"
        seeds = seeds_of(request, name)
        future = UntypedAPIFuture(request_id=name, sample_sequence_ids=[f"{name}:{i}" for i in range(len(seeds))])
        if self.work.future(name) is None:
            if self.work.waiting >= self.limits.waiting:
                raise Busy(f"{self.work.waiting} requests wait")
            manner = request.sampling_params.model_copy(update={"seed": None}).model_dump_json()
            job = Job(name, partial(self._sample, sampler.folder), Drawing(request, seeds), ("sample", sampler.folder,
                                                                                           manner))  # fmt: skip
            self.work.promise(job)
            self.work.submit(job)
        return future

    def get_info(self, model_id: str) -> types.GetInfoResponse:
        """What a model is. Its tokenizer is named by the folder of the base model, or its hub id."""
        about = self._model(model_id).about
        data = types.ModelData(model_name=about.base_model, tokenizer_id=self.served.source)
        return types.GetInfoResponse(
            type="get_info", model_data=data, model_id=model_id, is_lora=True, lora_rank=about.rank,
            model_name=about.base_model,
        )  # fmt: skip

    def session_info(self, session_id: str) -> types.GetSessionResponse:
        """The models and sampling clients of a session."""
        session = self.session(session_id)
        mine = [[name for name in held if name.startswith(f"{session_id}:")] for held in (self._models, self._samplers)]
        return types.GetSessionResponse(
            training_run_ids=mine[0], sampler_ids=mine[1], user_metadata=dict(session.user_metadata)
        )

    def capabilities(self) -> types.GetServerCapabilitiesResponse:
        """The names of the base model."""
        return types.GetServerCapabilitiesResponse(
            supported_models=[
                types.SupportedModel(
                    model_name=name, max_context_length=self.engine.context, trainable=True, sampleable=True
                )
                for name in self.served.names
            ]
        )

    def _sample(self, folder: Path | None, drawings: list[Drawing]) -> list[Answer]:
        return [Answer(body, PROTO) for body in self.engine.sample(folder, drawings)]

    def _load(self, model: Model, request: types.LoadWeightsRequest, policy: HfPolicy) -> Answer:
        folder, record = self.shelf.find(place := shelf.Place.parse(request.path))
        self._check_files(record.about)
        if not request.optimizer:
            policy.load_weights(folder)
        elif place.kind == shelf.TRAINING:
            policy.load(folder)
        else:
            raise InputError(f"{place.uri} has no optimiser", hint=f"load one of {shelf.TRAINING}/")
        return Answer.of({"type": "load_weights", "path": place.uri, "model_id": model.id})

    def _place(self, model: Model, policy: HfPolicy) -> None:
        self.shelf.describe(model.id, model.about)
        model.policy = policy

    def _there(self, model: Model) -> HfPolicy:
        if model.policy is None:
            raise InputError(f"model {model.id} was not made: see the answer to create_model")
        return model.policy

    def _model(self, model_id: str) -> Model:
        self.session(model_id.partition(":")[0])
        if model_id not in self._models:
            raise Gone(f"no model is called {model_id!r}")
        return self._models[model_id]

    def _check_new(self, base: str, optimizer: Any) -> None:
        self._check_name(base)
        if optimizer is not None and optimizer.type != "adamw":
            raise InputError(f"the optimiser {optimizer.type!r} is not offered: this server has Adam")
        held = sum(model.policy is not None for model in self._models.values())
        if held >= self.limits.models:
            raise InputError(f"{held} models are in training, which is all that this server holds")

    def _check_name(self, base: str | None) -> None:
        if base not in self.served.names:
            names = ", ".join(self.served.names)
            raise InputError(f"the base model {base!r} is not served here", hint=f"this server has: {names}")

    def _check_files(self, about: shelf.About) -> None:
        if about.base_files != self.served.files:
            raise InputError(f"the checkpoint is of another base model than the one served: {about.base_model}")

    def _first(self, model: Model, job: Job) -> UntypedAPIFuture:
        """Make a model, once."""
        if model.id not in self._models:
            self._models[model.id] = model
            self.work.promise(job)
            self.work.submit(job)
        return UntypedAPIFuture(request_id=job.request_id, model_id=model.id)

    def _in_turn(self, model: Model, seq: int | None, run: Callable[[], Answer]) -> UntypedAPIFuture:
        """Do it once all requests with lower numbers were begun, and only once."""
        if seq is None or seq < 1:
            raise InputError(f"seq_id is {seq}; the first request of a model has 1")
        name = f"{model.id}:{seq}"
        if seq >= model.next_seq and seq not in model.early:
            if len(model.early) + self.work.waiting >= self.limits.waiting:
                raise Busy(f"{len(model.early)} requests of this model wait for one before them")
            model.early[seq] = Job(name, lambda _: [run()])
            self.work.promise(model.early[seq])
            while model.next_seq in model.early:
                self.work.submit(model.early.pop(model.next_seq))
                model.next_seq += 1
        return UntypedAPIFuture(request_id=name, model_id=model.id)

    def _ended(self, session_id: str) -> Answer:
        self.shelf.end_session(session_id)
        return Answer.of({})


def _texts(metadata: Mapping[str, Any] | None) -> dict[str, str]:
    return {key: str(value) for key, value in (metadata or {}).items()}
