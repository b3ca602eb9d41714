package main

import "github.com/junction-mcp/junction/internal/replay"

const answer = `The three dearest trips:

| trip | month | cost |
|---|---|---:|
| Tromsø | January | 1,910 |
| Oslo | May | 1,460 |
| Lisbon | March | 812 |

I'll save them next to your notes.`

// toWrite holds the arguments of write-file in the order of the card.
type toWrite struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// conversation returns the turns of the model.
func conversation() []replay.Turn {
	return []replay.Turn{
		{
			Text:  "I'll look at your notes first.",
			Calls: []replay.Call{{Name: "read-file", Arguments: map[string]string{"path": "trips/expenses.csv"}}},
		},
		{
			Text: answer,
			Calls: []replay.Call{{Name: "write-file", Arguments: toWrite{
				Path: "trips/top3.csv", Content: "trip,month,cost\nTromsø,January,1910\nOslo,May,1460\nLisbon,March,812",
			}}},
		},
		{Text: "Done: `trips/top3.csv` has the three dearest trips."},
	}
}
