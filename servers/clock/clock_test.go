package clock

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// at returns a client of a server in Berlin whose clock always shows now.
func at(t *testing.T, now string) *mcp.Client {
	t.Helper()
	when, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return mcp.NewClient(New(Options{Zone: zone, Now: func() time.Time { return when }}))
}

func TestTimes(t *testing.T) {
	c := at(t, "2026-11-23T12:00:00Z")
	for _, test := range []struct{ tool, arguments, want string }{
		{"get_current_time", `{}`, `{"timezone":"Europe/Berlin","datetime":"2026-11-23T13:00:00+01:00","day_of_week":"Monday","week":48,"is_dst":false,"unix":1795435200}`},
		{"get_current_time", `{"timezone":"Asia/Kolkata"}`, `"datetime":"2026-11-23T17:30:00+05:30"`},
		{"get_current_time", `{"timezone":"Berlin"}`, `timezone: "Berlin" is not a time zone`},
		{"get_current_time", `{"timezone":"Local"}`, `timezone: "Local" is not a time zone`},
		{"get_current_time", `{"timezone":"../../etc/passwd"}`, `is not a time zone`},
		{"convert_time", `{"time":"16:30","source_timezone":"America/New_York","target_timezone":"Asia/Tokyo"}`, `"target":{"timezone":"Asia/Tokyo","datetime":"2026-11-24T06:30:00+09:00"`},
		{"convert_time", `{"time":"16:30","target_timezone":"Asia/Kolkata"}`, `"time_difference":"+4.5h"`},
		{"convert_time", `{"time":"2026-07-01T10:00","target_timezone":"UTC"}`, `"datetime":"2026-07-01T08:00:00Z"`},
		{"convert_time", `{"time":"2026-07-01T10:00:00+09:00"}`, `"datetime":"2026-07-01T03:00:00+02:00"`},
		{"convert_time", `{"time":"2026-03-29T02:30"}`, `2026-03-29T02:30 does not exist in Europe/Berlin`},
		{"convert_time", `{"time":"half past nine"}`, `expected HH:MM`},
	} {
		result, err := c.CallTool(t.Context(), test.tool, json.RawMessage(test.arguments))
		if err != nil || !strings.Contains(result.Text(), test.want) {
			t.Errorf("%s %s: %v %v, want %s in it", test.tool, test.arguments, result, err, test.want)
		}
	}
}

func Example() {
	now := func() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) }
	c := mcp.NewClient(New(Options{Zone: time.UTC, Now: now}))
	result, err := c.CallTool(context.Background(), "get_current_time", map[string]string{"timezone": "Asia/Shanghai"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output:
	// {"timezone":"Asia/Shanghai","datetime":"2026-11-23T20:00:00+08:00","day_of_week":"Monday","week":48,"is_dst":false,"unix":1795435200}
}
