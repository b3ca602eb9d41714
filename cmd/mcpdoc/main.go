// Mcpdoc turns the Go doc comments of a package into descriptions for models.
//
// Put this line into a package whose functions are tools:
//
//	//go:generate go run github.com/junction-mcp/junction/cmd/mcpdoc
//
// and run go generate. Mcpdoc reads the Go files of the package (tests left
// out) and writes mcp_docs.go next to them: one method MCPDocs on each struct
// type that has something to tell. The mcp library finds these methods by
// reflection, so there is nothing to register, and a program built without
// the file works all the same, with shorter descriptions.
//
// Usage:
//
//	mcpdoc [-check] [directory]
//
// A function literal, a generic or wrapped function, one that takes no struct
// type of the package, and a field of a nested struct without a name have no
// comment that is read: junction lint finds tools without a description.
//
// The directory is the current one unless given. With -check nothing is
// written: the exit code is 1 where mcp_docs.go is missing or stale.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/junction-mcp/junction/cmd/mcpdoc/docgen"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail where the file is missing or stale")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: mcpdoc [-check] [directory]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 1 {
		flag.Usage()
		os.Exit(2)
	}
	directory := "."
	if flag.NArg() == 1 {
		directory = flag.Arg(0)
	}
	run := docgen.Write
	if *check {
		run = docgen.Check
	}
	if err := run(directory); err != nil {
		fmt.Fprintln(os.Stderr, "mcpdoc:", err)
		os.Exit(1)
	}
}
