// Command guard measures the checks of package guard on files of poisoned and
// benign text, which are not part of the repository: the share flagged for each file and
// style, and the share of real tools flagged by mistake. It never prints a text, as the texts are
// real attacks; findings appear as the names of rules only.
//
//	go run ./guard [-tools tools.jsonl] [-ids] DIR
//
// Every *.jsonl in DIR is read. What a file holds is known by the fields of
// its rows:
//
//	message, expected           a JSON-RPC message, and the action: block, warn or pass
//	message                     a message of an ordinary session
//	install_time_definition, …  a definition before and after approval
//	tool, label                 a definition; malicious or benign; peers are other servers' tools
//	result_template             a poisoned result
//	description                 a definition, poisoned unless its label, or the name of the file, says benign
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	tools := flag.String("tools", "", "a file of real tools, of which none should be flagged")
	ids := flag.Bool("ids", false, "name the rows that were judged wrongly, and the rules that fired")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: guard [-tools tools.jsonl] [-ids] DIR")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := measure(os.Stdout, flag.Arg(0), *tools, *ids); err != nil {
		fmt.Fprintln(os.Stderr, "guard:", err)
		os.Exit(1)
	}
}
