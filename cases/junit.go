package cases

import (
	"encoding/xml"
	"io"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// The elements of a JUnit XML report, in the form that CI systems read.
type (
	junitSuites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Suites   []junitSuite
	}
	junitSuite struct {
		XMLName  xml.Name `xml:"testsuite"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Time     float64  `xml:"time,attr"`
		Cases    []junitCase
	}
	junitCase struct {
		XMLName xml.Name      `xml:"testcase"`
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr,omitempty"`
		Time    float64       `xml:"time,attr"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
		Skipped *junitMessage `xml:"skipped"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes reports as JUnit XML. Each cell of a file is a suite.
func WriteJUnit(w io.Writer, reports []*FileReport) error {
	all := junitSuites{}
	for _, f := range reports {
		for i := range f.Cells {
			s := suite(f.Path, &f.Cells[i])
			all.add(s)
		}
		if f.Err != nil {
			text := plaintext.Clean(f.Err.Error())
			all.add(junitSuite{Name: f.Path, Tests: 1, Errors: 1, Cases: []junitCase{{Class: f.Path, Name: "connect", File: f.Path, Error: &junitMessage{firstLine(text), text}}}})
		}
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write([]byte(xml.Header + string(text) + "\n"))
	return err
}

func (s *junitSuites) add(one junitSuite) {
	s.Tests, s.Failures, s.Errors, s.Skipped = s.Tests+one.Tests, s.Failures+one.Failures, s.Errors+one.Errors, s.Skipped+one.Skipped
	s.Suites = append(s.Suites, one)
}

func suite(path string, cell *Cell) junitSuite {
	name := path + " [" + cell.String() + "]"
	s := junitSuite{Name: name}
	if cell.Skipped != "" {
		s.Tests, s.Skipped = 1, 1
		s.Cases = []junitCase{{Class: name, Name: "all cases", File: path, Skipped: &junitMessage{Message: cell.Skipped}}}
	}
	for _, c := range cell.Cases {
		one := junitCase{Class: name, Name: plaintext.Line(c.Name, 1_000), File: path, Line: c.Line, Time: c.Took.Round(time.Millisecond).Seconds()}
		switch {
		case len(c.Failures) > 0:
			text := plaintext.Clean(strings.Join(c.Failures, "\n"))
			one.Failure = &junitMessage{firstLine(text), text}
			s.Failures++
		case c.Skipped != "":
			one.Skipped = &junitMessage{Message: c.Skipped}
			s.Skipped++
		}
		s.Tests++
		s.Time += one.Time
		s.Cases = append(s.Cases, one)
	}
	return s
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
