package cases

import "time"

// A FileReport holds the results of the cases of one file.
type FileReport struct {
	Path string
	// Cells holds the runs of all cases, one for each revision and transport.
	Cells []Cell
	// Wrote lists the paths of the snapshots that were written.
	Wrote []string
	// Removed lists the paths of the snapshots that were removed.
	Removed []string
	// Err is the reason why the server could not be tested, or nil.
	Err error
}

// A Cell is one run of all cases of a file, at one revision and over one transport.
type Cell struct {
	Revision, Transport string
	// Skipped is the reason why no case was run; empty if cases were run.
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
	// Failures describes the differences from the expectation. The first line of each is a summary;
	// a diff or the actual value may follow.
	Failures []string
	// Skipped is the reason why the case was not run.
	Skipped string
	Took    time.Duration
}

// Counts holds the number of cases by result.
type Counts struct{ Passed, Failed, Skipped int }

// Count counts the cases in reports. Each run of a case counts. A skipped cell counts as one
// skipped case. JUnit XML and TAP have the same rule.
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
