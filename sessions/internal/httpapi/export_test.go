package httpapi

import "time"

// SetStallTimeout makes the API give up a viewer that reads nothing sooner or later.
func (a *API) SetStallTimeout(d time.Duration) { a.stallTimeout = d }
