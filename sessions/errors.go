package sessions

import "errors"

// Code classifies an error on the wire.
type Code string

// The error codes of the API.
const (
	CodeNotFound            Code = "not_found"
	CodeConflict            Code = "conflict"
	CodeInvalid             Code = "invalid"
	CodeUnauthenticated     Code = "unauthenticated"
	CodeForbidden           Code = "forbidden"
	CodeTooLarge            Code = "too_large"
	CodeRateLimited         Code = "rate_limited"
	CodeDatabaseUnavailable Code = "database_unavailable"
	CodeRuntimeUnreachable  Code = "runtime_unreachable"
	CodeDeadline            Code = "deadline"
	CodeInternal            Code = "internal"
	CodeUnreachable         Code = "unreachable" // made by the client: no server answered
)

// HTTPStatus returns the status that carries c. The numbers are written out because the dashboard, which imports this
// package, must not reach net/http.
func (c Code) HTTPStatus() int {
	switch c {
	case CodeNotFound:
		return 404
	case CodeConflict:
		return 409
	case CodeInvalid:
		return 400
	case CodeUnauthenticated:
		return 401
	case CodeForbidden:
		return 403
	case CodeTooLarge:
		return 413
	case CodeRateLimited:
		return 429
	case CodeDatabaseUnavailable, CodeRuntimeUnreachable, CodeUnreachable:
		return 503
	case CodeDeadline:
		return 504
	case CodeInternal:
		return 500
	}
	return 500
}

// Error is an error that people and programs can act on: a code, one sentence, and the next step.
type Error struct {
	Code    Code           `json:"code"`
	Message string         `json:"message"` // one sentence, no trailing full stop needed
	Hint    string         `json:"hint,omitempty"`
	Details map[string]any `json:"details,omitempty"`
	Cause   error          `json:"-"` // for logs; never sent
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is makes errors.Is compare codes, so that errors.Is(err, ErrConflict) holds on both sides of the socket.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Sentinels to compare with errors.Is; only their code counts.
var (
	ErrNotFound            = &Error{Code: CodeNotFound, Message: "not found"}
	ErrConflict            = &Error{Code: CodeConflict, Message: "conflict"}
	ErrInvalid             = &Error{Code: CodeInvalid, Message: "invalid"}
	ErrUnauthenticated     = &Error{Code: CodeUnauthenticated, Message: "not logged in"}
	ErrDatabaseUnavailable = &Error{Code: CodeDatabaseUnavailable, Message: "the database is away"}
	ErrRuntimeUnreachable  = &Error{Code: CodeRuntimeUnreachable, Message: "the runtime is away"}
	ErrUnreachable         = &Error{Code: CodeUnreachable, Message: "no server answers"}
	ErrDeadline            = &Error{Code: CodeDeadline, Message: "took too long"}
)

// CodeOf returns the code of the first *Error in err's chain, CodeInternal for any other error, "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
