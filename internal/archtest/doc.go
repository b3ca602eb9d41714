// Package archtest tests the repository as a whole: imports between packages, names of revisions,
// exported names, lengths of files. It has no code of its own. A failure names the rule and its
// reason; the map behind the rules is ARCHITECTURE.md.
//
// The exported names of every public package and the dependencies of programs are text files in
// api/, so that an addition is visible in review. To write them again:
//
//	go test ./internal/archtest -update
package archtest
