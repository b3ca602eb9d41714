package idle

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTimerEndsSilentConnections(t *testing.T) {
	for name, test := range map[string]struct {
		use  func(*Timer)
		want time.Duration // 0: never
	}{
		"nothing is heard":    {func(*Timer) {}, 10 * time.Second},
		"something is heard":  {func(i *Timer) { time.Sleep(4 * time.Second); i.Restart() }, 14 * time.Second},
		"it is held":          {func(i *Timer) { time.Sleep(4 * time.Second); release := i.Hold(); time.Sleep(time.Minute); release() }, 74 * time.Second},
		"it is held twice":    {func(i *Timer) { one, two := i.Hold(), i.Hold(); one(); time.Sleep(time.Minute); i.Restart(); two() }, 70 * time.Second},
		"it is stopped":       {(*Timer).Stop, 0},
		"released after stop": {func(i *Timer) { release := i.Hold(); i.Stop(); release(); i.Restart() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, took := time.Now(), time.Duration(0)
				i := After(10*time.Second, func() { took = time.Since(began) })
				test.use(i)
				time.Sleep(time.Hour)
				synctest.Wait()
				if took != test.want {
					t.Errorf("it ends after %v, want %v", took, test.want)
				}
			})
		})
	}
	var none *Timer
	none.Restart()
	none.Hold()()
}
