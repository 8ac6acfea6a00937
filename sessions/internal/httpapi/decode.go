package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"corral/sessions"
)

// decode reads the one JSON object of a body. Unknown fields are ignored, so that a newer client can speak to an older
// server; an empty body is an empty object.
func decode(r *http.Request, into any) error {
	dec := json.NewDecoder(r.Body)
	err := dec.Decode(into)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			return badJSON("the body has something after its JSON object", "")
		}
		return nil
	}
	var tooLarge *http.MaxBytesError
	var badType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &tooLarge):
		return &sessions.Error{
			Code:    sessions.CodeTooLarge,
			Message: fmt.Sprintf("the request is larger than %d bytes", tooLarge.Limit),
			Hint:    "send less at once",
		}
	case errors.As(err, &badType) && badType.Field != "":
		return badJSON(fmt.Sprintf("the field %s cannot be a JSON %s", sessions.CleanLine(badType.Field, 80), badType.Value), badType.Field)
	case errors.As(err, &badType):
		return badJSON(fmt.Sprintf("the body must be a JSON object, not a %s", badType.Value), "")
	}
	return badJSON("the body is not valid JSON", "")
}

func badJSON(message, field string) error {
	e := &sessions.Error{Code: sessions.CodeInvalid, Message: message, Hint: "send one JSON object as docs/api describes it"}
	if field != "" {
		e.Details = map[string]any{"field": field}
	}
	return e
}

// number reads a query parameter that is a non-negative whole number; absent reads as 0.
func number(q url.Values, name string) (int64, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, &sessions.Error{
			Code:    sessions.CodeInvalid,
			Message: fmt.Sprintf("%s must be a whole number and not negative", name),
			Hint:    "leave it out for the default",
			Details: map[string]any{"field": name},
		}
	}
	return n, nil
}

// flag reads a query parameter that is true or false; absent reads as false.
func flag(q url.Values, name string) (bool, error) {
	text := q.Get(name)
	if text == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, &sessions.Error{
			Code: sessions.CodeInvalid, Message: name + " must be true or false", Hint: "leave it out for false",
			Details: map[string]any{"field": name},
		}
	}
	return b, nil
}
