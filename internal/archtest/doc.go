// Package archtest holds tests of the repository as a whole: which package may
// import which, where revisions are named, what is exported, how long files
// are. It has no code of its own. A failure names the rule and its reason; the
// map behind the rules is ARCHITECTURE.md.
//
// The exported surface of every public package and what programs depend on are
// text files in api/, so that growing either is a line in review. To write them
// again:
//
//	go test ./internal/archtest -update
package archtest
