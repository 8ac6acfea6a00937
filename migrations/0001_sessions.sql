-- Nodes: the machines whose runtimes hold sessions.
CREATE TABLE nodes (
    name       text        PRIMARY KEY,
    created_at timestamptz NOT NULL
);

-- Sessions: one row each, for as long as the session is in the list. Every writer compares and sets on (id, state,
-- version); the checks below are what must hold whoever writes.
CREATE TABLE sessions (
    id               uuid        PRIMARY KEY,
    title            text        NOT NULL,
    project          text        NOT NULL,
    cwd              text        NOT NULL,
    kind             text        NOT NULL,
    args             text[]      NOT NULL,
    conversation_id  text        NOT NULL,
    state            text        NOT NULL,
    state_reason     text        NOT NULL,
    exit_code        integer,
    signal           integer,
    node             text        NOT NULL REFERENCES nodes (name),
    run              integer     NOT NULL,
    owner            text        NOT NULL,
    deadline         timestamptz,
    tmux_pid         integer     NOT NULL,
    tmux_start       bigint      NOT NULL,
    tmux_boot_id     text        NOT NULL,
    ended_at         timestamptz,
    cols             integer     NOT NULL,
    rows             integer     NOT NULL,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    last_activity_at timestamptz NOT NULL,
    version          bigint      NOT NULL,

    CONSTRAINT sessions_state CHECK (state IN ('STARTING', 'RUNNING', 'DETACHED', 'WAITING_FOR_INPUT', 'STOPPING',
                                               'STOPPED', 'FAILED', 'RECOVERABLE')),
    CONSTRAINT sessions_kind CHECK (kind IN ('shell', 'claude', 'command')),
    CONSTRAINT sessions_title CHECK (octet_length(title) <= 200),
    CONSTRAINT sessions_project CHECK (octet_length(project) <= 100),
    CONSTRAINT sessions_cwd CHECK (cwd LIKE '/%' AND octet_length(cwd) <= 4095),
    CONSTRAINT sessions_size CHECK (cols BETWEEN 0 AND 65535 AND rows BETWEEN 0 AND 65535),
    CONSTRAINT sessions_exit_code CHECK (exit_code BETWEEN 0 AND 255),
    CONSTRAINT sessions_signal CHECK (signal BETWEEN 1 AND 64),
    CONSTRAINT sessions_run CHECK (run >= 1),
    CONSTRAINT sessions_version CHECK (version >= 1),
    -- Only a start and a polite stop have a time limit, only a start has an owner, only what ended has an end.
    CONSTRAINT sessions_deadline CHECK (deadline IS NULL OR state IN ('STARTING', 'STOPPING')),
    CONSTRAINT sessions_owner CHECK (owner = '' OR state = 'STARTING'),
    CONSTRAINT sessions_ended CHECK ((ended_at IS NOT NULL) = (state IN ('STOPPED', 'FAILED', 'RECOVERABLE')))
);

-- The moves that exist. From '' leads creation and the adoption of a live terminal whose row is unknown.
CREATE TABLE state_transitions (
    from_state text NOT NULL,
    to_state   text NOT NULL,
    PRIMARY KEY (from_state, to_state)
);

INSERT INTO state_transitions (from_state, to_state) VALUES
    ('', 'STARTING'),
    ('', 'DETACHED'),
    ('STARTING', 'RUNNING'),
    ('STARTING', 'DETACHED'),
    ('STARTING', 'WAITING_FOR_INPUT'),
    ('STARTING', 'STOPPING'),
    ('STARTING', 'STOPPED'),
    ('STARTING', 'FAILED'),
    ('RUNNING', 'DETACHED'),
    ('RUNNING', 'WAITING_FOR_INPUT'),
    ('RUNNING', 'STOPPING'),
    ('RUNNING', 'STOPPED'),
    ('RUNNING', 'FAILED'),
    ('RUNNING', 'RECOVERABLE'),
    ('DETACHED', 'RUNNING'),
    ('DETACHED', 'WAITING_FOR_INPUT'),
    ('DETACHED', 'STOPPING'),
    ('DETACHED', 'STOPPED'),
    ('DETACHED', 'FAILED'),
    ('DETACHED', 'RECOVERABLE'),
    ('WAITING_FOR_INPUT', 'RUNNING'),
    ('WAITING_FOR_INPUT', 'DETACHED'),
    ('WAITING_FOR_INPUT', 'STOPPING'),
    ('WAITING_FOR_INPUT', 'STOPPED'),
    ('WAITING_FOR_INPUT', 'FAILED'),
    ('WAITING_FOR_INPUT', 'RECOVERABLE'),
    ('STOPPING', 'STOPPED'),
    ('STOPPING', 'FAILED'),
    ('STOPPED', 'STARTING'),
    ('STOPPED', 'DETACHED'),
    ('FAILED', 'STARTING'),
    ('FAILED', 'DETACHED'),
    ('FAILED', 'RECOVERABLE'), -- a death that turned out to be the host going down
    ('RECOVERABLE', 'STARTING'),
    ('RECOVERABLE', 'STOPPED'),
    ('RECOVERABLE', 'DETACHED');

-- Events: one row per move, written in the move's transaction; the foreign key refuses an impossible one. Events stay
-- when their session is removed, until their time is over.
CREATE SEQUENCE terminal_events_id_seq;

CREATE TABLE terminal_events (
    id         bigint      PRIMARY KEY,
    session_id uuid        NOT NULL,
    at         timestamptz NOT NULL,
    actor      text        NOT NULL,
    from_state text        NOT NULL,
    to_state   text        NOT NULL,
    reason     text        NOT NULL,
    evidence   text        NOT NULL,
    exit_code  integer,
    signal     integer,

    CONSTRAINT terminal_events_transition FOREIGN KEY (from_state, to_state)
        REFERENCES state_transitions (from_state, to_state)
);

ALTER SEQUENCE terminal_events_id_seq OWNED BY terminal_events.id;

CREATE INDEX terminal_events_session ON terminal_events (session_id, id);
CREATE INDEX terminal_events_at ON terminal_events (at);

-- Numbers are given under a lock that is held until the commit, so that events become visible in the order of their
-- ids: whoever follows by "id greater than the last one seen" then misses none.
CREATE FUNCTION terminal_events_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('corral.terminal_events', 0));
    NEW.id := nextval('terminal_events_id_seq');
    RETURN NEW;
END
$$;

CREATE TRIGGER terminal_events_number BEFORE INSERT ON terminal_events
    FOR EACH ROW EXECUTE FUNCTION terminal_events_number();

-- Listeners on corral_sessions hear the id of each session that changed, when the change is committed. A row whose
-- version stays (only its last activity moved) is no news.
CREATE FUNCTION sessions_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('corral_sessions', COALESCE(NEW.id, OLD.id)::text);
    RETURN NULL;
END
$$;

CREATE TRIGGER sessions_notify_rows AFTER INSERT OR DELETE ON sessions
    FOR EACH ROW EXECUTE FUNCTION sessions_notify();

CREATE TRIGGER sessions_notify_changes AFTER UPDATE ON sessions
    FOR EACH ROW WHEN (OLD.version IS DISTINCT FROM NEW.version) EXECUTE FUNCTION sessions_notify();
