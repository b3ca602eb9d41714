// Command guard measures the checks of package guard on files of poisoned and benign text, which
// are not part of the repository. It prints the share of flagged rows for each file and style, and
// the share of real tools that are flagged by mistake. It never prints a text, because the texts
// are real attacks. Findings are shown by the names of their rules only.
//
//	go run ./guard [-tools tools.jsonl] [-ids] [-half 1|2] DIR
//
// Rules are chosen by their results on half 1 and checked on half 2. The half of a row depends only
// on its id. Every *.jsonl in DIR is read. The fields of its rows determine the kind of a file:
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
	half := flag.Int("half", 0, "only the rows of half 1, by which rules are chosen, or of half 2, on which they are checked")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: guard [-tools tools.jsonl] [-ids] [-half 1|2] DIR")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 || *half < 0 || *half > 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := measure(os.Stdout, flag.Arg(0), *tools, *ids, *half); err != nil {
		fmt.Fprintln(os.Stderr, "guard:", err)
		os.Exit(1)
	}
}
