package paper

// wicExperiments are those of this paper.
func wicExperiments() []Experiment { return nil }
