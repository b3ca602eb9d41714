// Package archtest tests the repository as a whole: imports between packages, names of revisions,
// exported names and lengths of files. It contains tests only. The message of a failure contains
// the broken rule and its reason. ARCHITECTURE.md explains the structure that the rules protect.
//
// The exported names of every public package and the dependencies of the programs are stored in
// text files in api/. A change to them is therefore visible in review. To write these files again:
//
//	go test ./internal/archtest -update
package archtest
