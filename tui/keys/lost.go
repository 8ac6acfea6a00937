package keys

// lost returns the bindings of what is shown of lost sessions.
func lost() []Binding {
	return []Binding{
		{Recovery, Yes, []string{"y"}, "bring back", "start the sessions of the plan, a few at a time"},
		{Recovery, Mark, []string{" "}, "leave out", "leave the session out of the plan, or take it in again"},
		{Recovery, Down, []string{"j", "down"}, "down", "look at the next session"},
		{Recovery, Up, []string{"k", "up"}, "up", "look at the one before"},
		{Recovery, Stop, []string{"x"}, "stop", "start nothing more; what was started runs on"},
		{Recovery, Cancel, []string{"esc", "q", "n", "ctrl+c"}, "close", "close the page; a recovery that has begun goes on"},

		{Choice, Latest, []string{"l"}, "latest", "go on with the newest conversation of its directory that no session runs"},
		{Choice, Fresh, []string{"f"}, "fresh", "begin a new conversation"},
		{Choice, Cancel, []string{"esc", "q", "n", "ctrl+c"}, "cancel", "restart nothing"},
	}
}
