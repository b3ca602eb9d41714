package sql

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxAnswer = 64 << 10 // bytes of all rows in a result
	maxCell   = 4 << 10  // bytes of a value in a result
	maxCSV    = 4 << 20  // bytes of a result as CSV
	maxExact  = 1 << 53  // largest integer that JSON numbers represent exactly
)

// A Column is a column of a result.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"` // the database's name for the type, or empty
}

// A Result is the result of a statement.
type Result struct {
	Columns []Column `json:"columns"`
	Rows    [][]any  `json:"rows"`
	// Notice reports that the result was cut, and describes how to read the rest.
	Notice string `json:"notice,omitempty"`
	// CSV is the URI of the whole result.
	CSV string `json:"csv,omitempty"`
	// Affected is the number of changed rows, if the database reports it.
	Affected *int64 `json:"affected,omitempty"`

	size int // size of the CSV in bytes
}

// plain converts a value of the database for JSON.
func plain(value any, kind string) any {
	switch v := value.(type) {
	case nil, bool, string:
		return v
	case int64:
		if v > maxExact || v < -maxExact {
			return strconv.FormatInt(v, 10)
		}
		return v
	case uint64:
		if v > maxExact {
			return strconv.FormatUint(v, 10)
		}
		return v
	case float32:
		return plain(float64FromShort(v), kind)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
		return v
	case []byte:
		if utf8.Valid(v) && bytes.IndexByte(v, 0) < 0 {
			return string(v)
		}
		return "0x" + hex.EncodeToString(v)
	case time.Time:
		return formatTime(v, kind)
	}
	return fmt.Sprint(value)
}

// float64FromShort returns the float64 with the shortest decimal form of v.
func float64FromShort(v float32) float64 {
	long, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
	if err != nil {
		return float64(v)
	}
	return long
}

// formatTime formats a time according to its SQL type.
func formatTime(t time.Time, kind string) string {
	switch strings.ToUpper(kind) {
	case "DATE":
		if t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 && t.Nanosecond() == 0 {
			return t.Format(time.DateOnly)
		}
	case "TIME":
		return t.Format("15:04:05.999999")
	case "TIMETZ":
		return t.Format("15:04:05.999999Z07:00")
	case "TIMESTAMPTZ":
		return t.Format(time.RFC3339Nano)
	}
	if _, offset := t.Zone(); offset == 0 {
		return t.Format("2006-01-02 15:04:05.999999999")
	}
	return t.Format("2006-01-02 15:04:05.999999999Z07:00")
}

// asText returns a value from plain as text. NULL becomes "".
func asText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}

// A collector collects rows: as many as fit for the result, and all of them as CSV.
type collector struct {
	result   Result
	maxRows  int
	size     int // size of the rows in the result, in bytes
	all      int // number of rows so far
	csv      bytes.Buffer
	lines    *csv.Writer // writes to csv; one writer for all lines, because each writer has a buffer
	csvRows  int
	full     bool // the result has no space for more rows
	csvFull  bool // the CSV has no space for more rows
	shortens bool // a value in the result was shortened
}

func (c *collector) header(columns []Column) error {
	c.result.Columns, c.result.Rows = columns, [][]any{}
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = column.Name
	}
	return c.write(names)
}

// write adds a line to the CSV.
func (c *collector) write(cells []string) error {
	before := c.csv.Len()
	if c.lines == nil {
		c.lines = csv.NewWriter(&c.csv)
	}
	if err := c.lines.Write(cells); err != nil {
		return err
	}
	c.lines.Flush()
	if err := c.lines.Error(); err != nil {
		return err
	}
	if c.csv.Len() > maxCSV {
		c.csv.Truncate(before)
		c.csvFull = true
	}
	return nil
}

// add adds a row, which it may modify. It reports whether another row can be added.
func (c *collector) add(row []any) (bool, error) {
	c.all++
	if !c.csvFull {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = asText(value)
		}
		if err := c.write(cells); err != nil {
			return false, err
		}
		if !c.csvFull {
			c.csvRows++
		}
	}
	if !c.full {
		c.answer(row)
	}
	return !c.csvFull, nil
}

// answer adds a row to the result if it fits.
func (c *collector) answer(row []any) {
	size := 0
	for i, value := range row {
		if s, ok := value.(string); ok && len(s) > maxCell {
			row[i] = strings.ToValidUTF8(s[:maxCell], "") + "…"
			c.shortens = true
		}
		size += len(asText(row[i])) + 4
	}
	if len(c.result.Rows) >= c.maxRows || c.size+size > maxAnswer && len(c.result.Rows) > 0 {
		c.full = true
		return
	}
	c.size += size
	c.result.Rows = append(c.result.Rows, row)
}

// table returns the result as a Markdown table.
func (r *Result) table() string {
	var b strings.Builder
	line := func(n int, cell func(int) string) {
		for i := range n {
			b.WriteString("| ")
			b.WriteString(cell(i))
			b.WriteByte(' ')
		}
		b.WriteString("|\n")
	}
	clean := strings.NewReplacer("|", `\|`, "\r\n", " ", "\n", " ", "\r", " ")
	if len(r.Columns) > 0 {
		line(len(r.Columns), func(i int) string { return clean.Replace(r.Columns[i].Name) })
		line(len(r.Columns), func(int) string { return "---" })
	}
	for _, row := range r.Rows {
		line(len(row), func(i int) string {
			if row[i] == nil {
				return "NULL"
			}
			return clean.Replace(asText(row[i]))
		})
	}
	switch n := len(r.Rows); {
	case r.Affected != nil:
		fmt.Fprintf(&b, "Rows changed: %d.\n", *r.Affected)
	case r.Notice == "" && n == 1:
		b.WriteString("1 row.\n")
	case r.Notice == "":
		fmt.Fprintf(&b, "%d rows.\n", n)
	}
	if r.Notice != "" {
		b.WriteString(r.Notice + "\n")
	}
	return b.String()
}
