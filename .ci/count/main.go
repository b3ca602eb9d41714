// Count reads the output of go test -json from standard input, prints what
// was skipped, what was slow and what failed, and writes "passed failed skipped" to the file
// that it is given, with the name of each failure on a line below. A test with subtests counts as its subtests, unless it fails
// where they pass; a package that does not build, or that dies, counts as one
// failure.
//
//	go test -json ./... | go run ./.ci/count FILE
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// An event is one line of go test -json (go doc test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // of build-output and build-fail
	Test       string
	Output     string
	Elapsed    float64 // seconds
}

const (
	maxHead = 30 // first lines of a failure that are shown: its error is there, before what the clean-up prints
	maxTail = 40 // last lines that are shown
	maxSlow = 8  // of the slowest tests that are named
	slow    = 20 // seconds; a test below is not slow

	omitted = "[…]\n" // stands for the lines between
)

// A report is what became of all tests.
type report struct {
	order   []string          // tests and packages, as they ended
	results map[string]string // pass, fail or skip by key
	output  map[string][]string
	parents map[string]bool
	elapsed map[string]float64 // seconds, of tests that are no subtests
}

// key names a test, or a package where there is no test.
func key(e *event) string {
	name := e.Package
	if name == "" {
		name = e.ImportPath
	}
	if e.Test != "" {
		name += " " + e.Test
	}
	return name
}

func read(r io.Reader) (*report, error) {
	all := &report{results: map[string]string{}, output: map[string][]string{}, parents: map[string]bool{}, elapsed: map[string]float64{}}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			all.take(line)
		}
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (r *report) take(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		fmt.Print(string(line)) // not from go test: a word of the go command
		return
	}
	k := key(&e)
	switch e.Action {
	case "output", "build-output":
		kept := append(r.output[k], e.Output)
		if len(kept) > maxHead+maxTail {
			kept = slices.Delete(kept, maxHead, maxHead+1)
			kept[maxHead] = omitted
		}
		r.output[k] = kept
	case "run":
		for name := e.Test; strings.Contains(name, "/"); {
			name = name[:strings.LastIndexByte(name, '/')]
			r.parents[e.Package+" "+name] = true
		}
	case "pass", "fail", "skip", "build-fail":
		if _, seen := r.results[k]; !seen {
			r.order = append(r.order, k)
		}
		if e.Test != "" && !strings.Contains(e.Test, "/") {
			r.elapsed[k] = e.Elapsed
		}
		r.results[k] = strings.TrimPrefix(e.Action, "build-")
		if e.Action == "pass" {
			delete(r.output, k)
		}
	}
}

// count prints the skips, and the failures last, where a log that is cut keeps them. It returns how many
// passed and were skipped, and the names of the failures.
func (r *report) count(w io.Writer) (passed, skipped int, failed []string) {
	for _, k := range r.order {
		isTest := strings.Contains(k, " ")
		result := r.results[k]
		if r.parents[k] && (result != "fail" || r.failedBelow(k+"/")) {
			continue
		}
		if !isTest && (result != "fail" || r.failedBelow(k+" ")) {
			continue
		}
		switch result {
		case "pass":
			passed++
		case "fail":
			failed = append(failed, k)
		case "skip":
			skipped++
			fmt.Fprintf(w, "skip %s: %s\n", k, reason(r.output[k]))
		}
	}
	r.nameSlow(w)
	for _, k := range failed {
		fmt.Fprintf(w, "FAIL %s\n    %s\n", k, strings.ReplaceAll(strings.TrimSpace(strings.Join(r.output[k], "")), "\n", "\n    "))
	}
	return passed, skipped, failed
}

// nameSlow prints what took the longest.
func (r *report) nameSlow(w io.Writer) {
	names := slices.SortedFunc(maps.Keys(r.elapsed), func(a, b string) int { return cmp.Compare(r.elapsed[b], r.elapsed[a]) })
	for _, k := range names[:min(len(names), maxSlow)] {
		if r.elapsed[k] >= slow {
			fmt.Fprintf(w, "slow %s: %.0f s\n", k, r.elapsed[k])
		}
	}
}

// failedBelow reports whether something whose key begins so has failed, and so
// is counted already.
func (r *report) failedBelow(prefix string) bool {
	return slices.ContainsFunc(r.order, func(k string) bool { return strings.HasPrefix(k, prefix) && r.results[k] == "fail" })
}

// reason is the line in which a test says why it is skipped.
func reason(output []string) string {
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			return line
		}
	}
	return "no reason given"
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: count FILE")
		os.Exit(2)
	}
	all, err := read(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "count:", err)
		os.Exit(1)
	}
	passed, skipped, failed := all.count(os.Stdout)
	counts := fmt.Sprintf("%d %d %d\n", passed, len(failed), skipped)
	for _, name := range failed {
		counts += name + "\n"
	}
	if err := os.WriteFile(os.Args[1], []byte(counts), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "count:", err)
		os.Exit(1)
	}
}
