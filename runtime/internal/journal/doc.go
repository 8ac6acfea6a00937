// Package journal is the record of what a session read and printed: writing it, reading it, compressing it and letting
// it go.
//
// A session's journal is a directory of segments, named after their first sequence and the time they were begun:
//
//	00000000000000000001-1767225600000.jsonl
//
// A segment holds one record a line, as JSON. Sequences rise by one from record to record, across segments and across
// whatever happens to the writer; times never go back. A closed segment is compressed to the same name with .zst; when
// both are there, the plain one is the whole one. Records are sorted, so the names of the segments and a binary search
// inside of one find a sequence or a time: there is no index that could be wrong.
//
// A writer that dies leaves at most one torn line at the end. The next writer begins a new line after it; readers skip
// what is no record and count it. Nothing is synced to the disk until a segment is closed: the death of a process loses
// nothing that was written, the death of the machine what the kernel had not written back.
//
// The package owns no goroutine. A Writer belongs to one goroutine; there is one per session. Readers need nothing from
// the writer.
package journal
