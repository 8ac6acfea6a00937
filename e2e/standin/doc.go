// Package standin is a stand-in for Claude Code in tests: it takes the command lines that matter, runs the hooks of the
// settings file it is given, keeps session file and transcript, and behaves at its prompt as the real program was
// recorded to, version by version. It talks to nobody.
//
// A test binary becomes it: Install puts a program called claude into a directory for PATH, and TestMain calls Main when
// the first argument is Verb.
//
// What is typed at its prompt says what its turn does: steps after "rig:", separated by "|>", as say TEXT, slow SECONDS,
// bash COMMAND, bashbg COMMAND, ask QUESTION, plan TEXT, agent SECONDS, error TEXT. The commands /exit, /clear, /compact,
// /branch, /resume ID and /model are its own. At a question 1 says yes, 2 and Escape no.
//
// Variables that change it: STANDIN_VERSION, STANDIN_TRUST=ask (asks for trust first), STANDIN_LOG (a file that gets one
// line of JSON per start: argv, pid, cwd), STANDIN_FAULT (a list of lose:EVENT, twice:EVENT, slow:EVENT:MILLISECONDS; slow
// runs the hook beside what follows, and its input comes late), STANDIN_FAIL=CODE (ends at once).
package standin
