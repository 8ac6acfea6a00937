// Package spawn starts Corral's background roles on demand and ends them.
//
// Role.Ensure dials the role's socket and, if nothing answers, starts `corral <role>`: in a session of its own, so that
// it outlives the terminal, with an environment that was chosen and standard output in a file. The child tells over an
// inherited pipe how its start went (Starter): that it listens, that another process holds the role's lock, or why it
// cannot run. Two callers at one instant therefore make one process: the lock decides, and the loser waits for the
// winner's socket. The child itself ends when it finds out that it lost.
//
// Ensure leaves one goroutine behind per started child; it reaps the child when that ends, which an open dashboard
// lives to see. Nothing else in the package outlives its call.
package spawn
