package vt

import "runtime/debug"

// OnFault makes a screen survive a fault of its own or of the library under it: it is blank then, as after Reset, f is
// told, and what comes next is drawn. Nothing that a program prints is known to lead to one, but whoever shows what any
// program prints must not depend on that. Without it a fault is a panic, which is what tests want. f must not use the
// screen.
func OnFault(f func(fault any, stack []byte)) Option { return func(s *Screen) { s.onFault = f } }

// rescue is deferred by what may have a fault, after the unlocking of mu.
func (s *Screen) rescue() {
	if s.onFault == nil {
		return
	}
	if fault := recover(); fault != nil {
		stack := debug.Stack()
		s.start(s.term.cols, s.term.rows)
		s.onFault(fault, stack)
	}
}
