package audit

import (
	"path/filepath"
	"testing"
)

func BenchmarkAppend(b *testing.B) {
	for _, noSync := range []bool{true, false} {
		l, err := Open(filepath.Join(b.TempDir(), "audit"), Options{Key: testKey(b), NoSync: noSync})
		if err != nil {
			b.Fatal(err)
		}
		record := Record{Kind: KindCall, Call: "ABCDEFGHIJKLMNOP", Method: "tools/call", Name: "files__read_file", Client: "inspector/1.0", Outcome: "ok", Sent: 100, Received: 1000}
		name := "one, to the disk"
		if noSync {
			name = "one, to the system"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := record
				if err := l.Append(&r); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+", 64 at a time", func(b *testing.B) {
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r := record
					if err := l.Append(&r); err != nil {
						b.Error(err)
					}
				}
			})
		})
		_ = l.Close()
	}
}
