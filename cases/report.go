package cases

import "time"

// A FileReport is what became of the cases of one file.
type FileReport struct {
	Path string
	// Cells are the runs of all its cases: one for each revision and transport.
	Cells []Cell
	// Wrote are the snapshots that were written.
	Wrote []string
	// Removed are the snapshots that were removed, as their cases are gone.
	Removed []string
	// Err says why the server could not be tested; nil if it could.
	Err error
}

// A Cell is one run of the cases of a file, over one transport at one revision.
type Cell struct {
	Revision, Transport string
	// Skipped says why nothing was run; empty if it was.
	Skipped string
	Cases   []CaseReport
}

// String names the cell.
func (c *Cell) String() string {
	if c.Revision == "" {
		return c.Transport
	}
	return c.Revision + ", " + c.Transport
}

// A CaseReport is what became of one case. It passed if neither Failures nor Skipped is there.
type CaseReport struct {
	Name string
	Line int // of the file
	// Failures say what is not as expected: each a line, with a diff or what came in further ones.
	Failures []string
	// Skipped says why the case was not run.
	Skipped string
	Took    time.Duration
}

// Counts are how many cases there were.
type Counts struct{ Passed, Failed, Skipped int }

// Count counts the cases of reports; one that ran several times counts as often. A cell in which nothing was run counts as
// one that was skipped, as in JUnit's XML and in TAP.
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
