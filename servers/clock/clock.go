package clock

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"
	_ "time/tzdata" // for machines without a time zone database

	"github.com/junction-mcp/junction/mcp"
)

// Options configures the server. The zero value of each field means its default.
type Options struct {
	// Zone is the time zone for calls that do not name one; default the zone of this machine.
	Zone *time.Location
	// Now returns the current time; default time.Now.
	Now func() time.Time
}

// A Moment is a time in a zone.
type Moment struct {
	Timezone  string `json:"timezone"`
	Datetime  string `json:"datetime"` // in the form of RFC 3339
	DayOfWeek string `json:"day_of_week"`
	Week      int    `json:"week"` // week of the year in ISO 8601
	IsDST     bool   `json:"is_dst"`
	Unix      int64  `json:"unix"`
}

// A Conversion is a time in two zones.
type Conversion struct {
	Source     Moment `json:"source"`
	Target     Moment `json:"target"`
	Difference string `json:"time_difference"` // from the source to the target, such as +5.5h
}

// New returns a server that tells the time.
func New(o Options) *mcp.Server {
	o.Zone = cmp.Or(o.Zone, time.Local)
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &clock{o}
	s := mcp.NewServerWith("time", "1.0.0", mcp.ServerOptions{Title: "Time", Description: "The time, in any time zone.", NoLogging: true})
	tool := func(name, title, description string) mcp.Tool {
		return mcp.Tool{Name: name, Title: title, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}}
	}
	zone := c.zoneName()
	mcp.AddToolWith(s, tool("get_current_time", "What time is it?", "Return the date and time in a time zone. Without one: in "+zone+"."), c.current)
	mcp.AddToolWith(s, tool("convert_time", "Convert a time", "Convert a time from one time zone to another. Without a date: today."), c.convert)
	return s
}

type clock struct{ options Options }

type currentIn struct {
	// Timezone is an IANA name such as Europe/Berlin, or UTC.
	Timezone string `json:"timezone,omitempty"`
}

func (c *clock) current(_ context.Context, in currentIn) (Moment, error) {
	zone, err := c.zone("timezone", in.Timezone)
	if err != nil {
		return Moment{}, err
	}
	return momentOf(c.options.Now().In(zone)), nil
}

type convertIn struct {
	// SourceTimezone is the zone of Time, such as America/New_York; default the server's.
	SourceTimezone string `json:"source_timezone,omitempty"`
	// Time is HH:MM, or a date and a time such as 2026-11-23T15:04.
	Time string `json:"time"`
	// TargetTimezone is the zone to convert to; default the server's.
	TargetTimezone string `json:"target_timezone,omitempty"`
}

func (c *clock) convert(_ context.Context, in convertIn) (Conversion, error) {
	source, err := c.zone("source_timezone", in.SourceTimezone)
	if err != nil {
		return Conversion{}, err
	}
	target, err := c.zone("target_timezone", in.TargetTimezone)
	if err != nil {
		return Conversion{}, err
	}
	at, err := c.parse(in.Time, source)
	if err != nil {
		return Conversion{}, err
	}
	_, from := at.Zone()
	_, to := at.In(target).Zone()
	hours := math.Round(float64(to-from)/36) / 100
	return Conversion{momentOf(at), momentOf(at.In(target)), fmt.Sprintf("%+gh", hours)}, nil
}

// parse parses a time of day, which means today in the zone, or a date and a time. A time that does
// not exist because summer time begins is an error.
func (c *clock) parse(text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.In(zone), nil
	}
	year, month, day := c.options.Now().In(zone).Date()
	for _, layout := range []string{"15:04", "15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05"} {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if t.Year() == 0 {
			t = time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
		}
		in := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, zone)
		if in.Hour() != t.Hour() || in.Minute() != t.Minute() {
			return in, fmt.Errorf("time: %s does not exist in %v: the clock is put forward at that time", text, zone)
		}
		return in, nil
	}
	return time.Time{}, fmt.Errorf("time: expected HH:MM, or a date and a time such as 2026-11-23T15:04, got %q", text)
}

// zone returns the time zone with a name, or the server's zone for "".
func (c *clock) zone(field, name string) (*time.Location, error) {
	if name == "" {
		return c.options.Zone, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("%s: %q is not a time zone; expected an IANA name such as Europe/Berlin, Asia/Shanghai or UTC", field, name)
	}
	return zone, nil
}

// zoneName returns the server's zone in the form that descriptions of tools use.
func (c *clock) zoneName() string {
	if name := c.options.Zone.String(); name != "Local" {
		return name
	}
	name, _ := c.options.Now().Zone()
	return "that of this machine (" + name + ")"
}

func momentOf(t time.Time) Moment {
	_, week := t.ISOWeek()
	name := t.Location().String()
	if name == "Local" {
		name, _ = t.Zone()
	}
	return Moment{Timezone: name, Datetime: t.Format(time.RFC3339), DayOfWeek: t.Weekday().String(), Week: week, IsDST: t.IsDST(), Unix: t.Unix()}
}
