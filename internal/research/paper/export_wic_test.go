package paper

import (
	"freshet/internal/freshet"
	"freshet/internal/lab"
)

// WICExperimentsOf returns the experiments on WIC with these policies under the
// labels of WIC and CAM.
func WICExperimentsOf(wic, cam func(g *lab.Grid, polls float64, e freshet.Estimator) freshet.Policy) []Experiment {
	return wicStudy{wic: wic, cam: cam}.experiments()
}
