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
//	mcpdoc migrate [-w] [-optional] [file or directory ...]
//
// Mcpdoc finds no comments for these: function literals, generic or wrapped functions, functions
// that take no struct type of the package, and fields of unnamed nested structs. The command
// junction lint finds tools without a description.
//
// The default directory is the current one. With -check, mcpdoc writes nothing. It exits with code
// 1 if mcp_docs.go is missing or stale.
//
// Mcpdoc migrate rewrites struct tags of programs that were written for the official Go SDK or for
// mcp-go to the tags of the mcp library: jsonschema, jsonschema_description and mcp become doc, enum,
// min and so on. It searches directories with all below them and prints the differences. With -w, it
// changes the files. It reports the parts of tags that have no counterpart, leaves them where they
// are, and then exits with code 1. It does the same with folders in which no file imports an SDK; to
// rewrite such a folder, run the command on it alone. A second run changes nothing.
//
// With -optional, a field is optional unless its jsonschema tag has the keyword required. Mcpdoc also
// detects this in the files, by RequiredFromJSONSchemaTags: true.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/junction-mcp/junction/cmd/mcpdoc/docgen"
	"github.com/junction-mcp/junction/cmd/mcpdoc/migrate"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "migrate" {
		migrateTags(os.Args[2:])
		return
	}
	check := flag.Bool("check", false, "write nothing; fail where the file is missing or stale")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: mcpdoc [-check] [directory]\n       mcpdoc migrate [-w] [-optional] [file or directory ...]")
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
	fail(run(directory))
}

// migrateTags runs mcpdoc migrate.
func migrateTags(args []string) {
	flags := flag.NewFlagSet("mcpdoc migrate", flag.ExitOnError)
	o := migrate.Options{Diff: os.Stdout, Report: os.Stderr}
	flags.BoolVar(&o.Write, "w", false, "change the files; without it, print the differences")
	flags.BoolVar(&o.Optional, "optional", false, "fields are optional unless their jsonschema tag has required")
	_ = flags.Parse(args) // exits on an error
	paths := flags.Args()
	if len(paths) == 0 {
		paths = []string{"."}
	}
	fail(migrate.Run(paths, o))
}

// fail ends the program with an error, if there is one.
func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcpdoc:", err)
		os.Exit(1)
	}
}
