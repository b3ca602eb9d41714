// Mcpdoc turns the Go doc comments of a package into descriptions for models.
//
// Put this line into a package that defines tools as functions:
//
//	//go:generate go run github.com/junction-mcp/junction/cmd/mcpdoc
//
// Then run go generate. Mcpdoc reads the Go files of the package, except tests, and writes
// mcp_docs.go next to them. The file declares a method MCPDocs on each struct type that has
// documentation. The mcp library finds these methods by reflection, so there is nothing to
// register. Without the file, a program still works, with shorter descriptions.
//
// Usage:
//
//	mcpdoc [-check] [directory]
//
// Mcpdoc finds no comments for these: function literals, generic or wrapped functions, functions
// that take no struct type of the package, and fields of unnamed nested structs. The command
// junction lint finds tools without a description.
//
// The default directory is the current one. With -check, mcpdoc writes nothing. It exits with code
// 1 if mcp_docs.go is missing or stale.
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
