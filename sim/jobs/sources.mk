# sources of sim/jobs
