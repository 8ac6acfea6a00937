package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"corral/runtime/rtapi"
)

// Hooks takes what agents tell.
type Hooks interface {
	// Receive takes one post. One that is too large is given to it as well, cut: it counts them.
	Receive(ctx context.Context, token string, body []byte) error
}

func (a api) hook(r *http.Request) (any, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		token = "" // of nobody
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, rtapi.MaxHook+1))
	if err != nil {
		return nil, fmt.Errorf("read a hook's post: %w", err)
	}
	return nil, a.Hooks.Receive(r.Context(), token, body)
}
