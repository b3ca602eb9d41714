package process

import (
	"testing"
	"time"
)

func TestProcessorTimeOfTheGroupIsCounted(t *testing.T) {
	busy, err := Start(Command{Path: "sh", Args: []string{"-c", "(while :; do :; done) & wait"}})
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	idle, err := Start(Command{Path: "sleep", Args: []string{"1000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if used, ok := busy.CPUTime(); ok && used >= 100*time.Millisecond {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the loop of its child is not counted")
		}
	}
	if used, ok := idle.CPUTime(); !ok || used > 50*time.Millisecond {
		t.Errorf("one that sleeps used %v, %v", used, ok)
	}
}
