package up_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/clock"
	"github.com/junction-mcp/junction/servers/everything"
	"github.com/junction-mcp/junction/up"
)

// A gateway of two servers that ship with Junction, with rules from a file that the settings name.
// Any transport can serve it.
func Example() {
	ctx := context.Background()
	set, err := settings.Parse([]byte(`{"policy": "testdata/policy.json", "tools": "all"}`))
	if err != nil {
		log.Fatal(err)
	}
	servers := []up.Server{up.InProcess("all", everything.New()), up.InProcess("clock", clock.New(clock.Options{}))}
	g, err := up.New(&up.Plan{Settings: set, Servers: servers}, up.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	if err := g.Start(ctx).Err(); err != nil {
		log.Fatal(err)
	}
	result, err := mcp.NewClient(g).CallTool(ctx, "all__echo", map[string]string{"message": "hello"})
	fmt.Println(result.Text(), err)
	_, err = mcp.NewClient(g).CallTool(ctx, "clock__get_current_time", nil)
	fmt.Println(strings.Contains(err.Error(), "time does not matter here"))
	// Output:
	// hello <nil>
	// true
}

// A gateway of the servers and settings in a file, as junction up serves it. Launcher.Prompter could ask a user about servers of projects.
func ExampleSource() {
	ctx := context.Background()
	l := &launch.Launcher{Config: []string{"testdata/servers.json"}}
	defer l.Close()
	c, err := l.Read()
	if err != nil {
		log.Fatal(err)
	}
	plan, err := up.Source{Launcher: l}.Plan(c)
	if err != nil {
		log.Fatal(err)
	}
	g, err := up.New(plan, up.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	fmt.Println(g.Start(ctx).Added, plan.Settings.Tools)
	// Output: [clock] all
}

// A gateway of the servers in a file and of a server that the program adds to them.
func ExampleSource_Plan() {
	ctx := context.Background()
	l := &launch.Launcher{Config: []string{"testdata/servers.json"}}
	defer l.Close()
	c, err := l.Read()
	if err != nil {
		log.Fatal(err)
	}
	plan, err := up.Source{Launcher: l}.Plan(c)
	if err != nil {
		log.Fatal(err)
	}
	plan.Servers = append(plan.Servers, up.InProcess("all", everything.New()))
	g, err := up.New(plan, up.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	d := g.Start(ctx)
	if err := d.Err(); err != nil { // names the servers that cannot be added
		log.Fatal(err)
	}
	fmt.Println(d.Added)
	result, err := mcp.NewClient(g).CallTool(ctx, "all__echo", map[string]string{"message": "hello"})
	fmt.Println(result.Text(), err)
	// Output:
	// [all clock]
	// hello <nil>
}
