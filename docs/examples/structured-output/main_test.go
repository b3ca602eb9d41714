package main

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

func TestResultsAreValuesForProgramsAndTextForModels(t *testing.T) {
	c := mcp.NewClient(newServer())
	defer c.Close()
	ctx := t.Context()
	warm, err := mcp.Call[weather](ctx, c, "get_weather", place{"Oslo", "fahrenheit"})
	if err != nil || warm.Temperature != 72.5 || warm.Timestamp.IsZero() {
		t.Errorf("%+v, %v", warm, err)
	}
	if _, err := mcp.Call[weather](ctx, c, "get_weather", place{"Oslo", "kelvin"}); err == nil {
		t.Error("a unit that does not exist was taken")
	}
	who, err := mcp.Call[profile](ctx, c, "get_user_profile", map[string]string{"userId": "7"})
	if err != nil || who.ID != "7" || len(who.Tags) != 2 {
		t.Errorf("%+v, %v", who, err)
	}
	for limit, want := range map[int]int{2: 2, 100: 5} {
		list, err := mcp.Call[[]asset](ctx, c, "get_assets", map[string]int{"limit": limit})
		if err != nil || len(list) != want {
			t.Errorf("%d assets: %+v, %v", limit, list, err)
		}
	}
	result, err := c.CallTool(ctx, "get_weather", map[string]string{"location": "Oslo"})
	if err != nil || !strings.HasPrefix(result.Text(), "Weather in Oslo: 22.5 degrees celsius") || len(result.StructuredContent) == 0 {
		t.Errorf("%+v, %v", result, err)
	}
}
