package cases

import "time"

// A FileReport holds the results of the cases of one file.
type FileReport struct {
	Path string
	// Cells holds the runs of all its cases: one for each revision and transport.
	Cells []Cell
	// Wrote lists the written snapshots.
	Wrote []string
	// Removed lists the removed snapshots of deleted cases.
	Removed []string
	// Err is the reason that the server could not be tested; nil if it could.
	Err error
}

// A Cell is one run of the cases of a file, over one transport at one revision.
type Cell struct {
	Revision, Transport string
	// Skipped is the reason that nothing was run; empty if the cases ran.
	Skipped string
	Cases   []CaseReport
}

// String returns the revision and the transport.
func (c *Cell) String() string {
	if c.Revision == "" {
		return c.Transport
	}
	return c.Revision + ", " + c.Transport
}

// A CaseReport is the result of one case. The case passed if Failures and Skipped are empty.
type CaseReport struct {
	Name string
	Line int // line in the file
	// Failures describes the differences from the expectation. Each begins with one line; a diff or
	// the actual value may follow in more lines.
	Failures []string
	// Skipped is the reason that the case was not run.
	Skipped string
	Took    time.Duration
}

// Counts holds numbers of cases.
type Counts struct{ Passed, Failed, Skipped int }

// Count counts the cases of reports; each run of a case counts. A skipped cell counts as one
// skipped case, as in JUnit's XML and in TAP.
func Count(reports []*FileReport) (c Counts) {
	for _, f := range reports {
		for _, cell := range f.Cells {
			if cell.Skipped != "" {
				c.Skipped++
			}
			for _, r := range cell.Cases {
				switch {
				case len(r.Failures) > 0:
					c.Failed++
				case r.Skipped != "":
					c.Skipped++
				default:
					c.Passed++
				}
			}
		}
	}
	return c
}
