package add_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/junction-mcp/junction/install/add"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// An agreeing user makes the first choice and reads the cards.
type agreeing struct{}

func (agreeing) Absent() string { return "" }

func (agreeing) Choose(_ context.Context, question string, choices []launch.Choice) (string, error) {
	fmt.Println(question, choices[0].Label)
	return choices[0].Key, nil
}

func (agreeing) Text(context.Context, launch.Question) (string, error) { return "", nil }

func (agreeing) Show(c launch.Card) {
	for _, row := range c.Rows {
		if row[0] == "offers" || strings.HasPrefix(row[0], "  ") {
			fmt.Println(strings.TrimSpace(row[0])+":", row[1])
		}
	}
}

func ExampleAdder_Add() {
	s := mcp.NewServer("notes", "1.0")
	mcp.AddTool(s, "put", func(context.Context, struct{ Text string }) (string, error) { return "kept", nil })
	server := httptest.NewServer(streamable.Handler(s))
	defer server.Close()
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)

	launcher := launch.Launcher{Prompter: agreeing{}}
	defer launcher.Close()
	adder := add.Adder{File: filepath.Join(folder, "mcp.json"), Launcher: &launcher}
	added, err := adder.Add(context.Background(), server.URL, add.Options{Name: "notes"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("added:", added.Name)
	fmt.Println("try:", added.FirstCall)
	text, err := os.ReadFile(adder.File)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(strings.Replace(string(text), server.URL, "URL", 1))
	// Output:
	// offers: 1 tool
	// others: put
	// Add it? [y]es
	// added: notes
	// try: junction list tools notes
	// {
	//   "mcpServers": {
	//     "notes": {
	//       "type": "http",
	//       "url": "URL"
	//     }
	//   }
	// }
}
