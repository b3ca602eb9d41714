package reach

import (
	"time"
)

const (
	LinkTime = 10 * time.Second // for each link but the start
)
