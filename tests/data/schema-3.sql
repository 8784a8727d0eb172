-- A database as schema 3 had it: runs of the jobs, step and serve worlds, shortened. Its digest: bb564a2bca479efc4c464c4207385ad4953497cb277b49d84b9394c2e6eb2b12
PRAGMA application_id=1869771385; PRAGMA user_version=3;
BEGIN TRANSACTION;
CREATE TABLE devices(
  run INTEGER NOT NULL REFERENCES runs(run),
  device INTEGER NOT NULL,
  node INTEGER NOT NULL,
  compute_s REAL, optimizer_s REAL, codec_s REAL, exposed_s REAL, bubble_s REAL, idle_s REAL,
  peak_memory_bytes REAL, sent_bytes REAL,
  PRIMARY KEY(run, device)) WITHOUT ROWID;
INSERT INTO "devices" VALUES(4,0,0,9.09383684108929918332e-02,4.2056149593494573935e-04,0.0,4.83410149253737930763e-04,0.0,0.0,2927998272.0,102228128.0);
INSERT INTO "devices" VALUES(4,1,0,9.09383684108929918332e-02,4.2056149593494573935e-04,0.0,4.83410149253737930763e-04,0.0,0.0,2927998272.0,102228128.0);
CREATE TABLE events(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,
  kind TEXT NOT NULL,
  subject INTEGER NOT NULL,
  detail TEXT,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
INSERT INTO "events" VALUES(1,0,13140812432,'start',0,'n0:2');
INSERT INTO "events" VALUES(1,1,116600924014,'start',1,'n0:2');
INSERT INTO "events" VALUES(1,2,166927361264,'finish',0,NULL);
INSERT INTO "events" VALUES(1,3,166927361264,'start',2,'n0:2');
INSERT INTO "events" VALUES(1,4,255616841281,'finish',2,NULL);
INSERT INTO "events" VALUES(1,5,988749058545,'finish',1,NULL);
INSERT INTO "events" VALUES(1,6,0,'remark',0,'no interval if a run has too few values or their correlation extends too far: --replications 10 gives intervals (of a trace from a file with --resample)');
INSERT INTO "events" VALUES(1,7,0,'assumption',0,'a job takes its recorded duration on every GPU type (jobs.reference_type scales it)');
INSERT INTO "events" VALUES(1,8,0,'assumption',0,'placement: count; a start costs 0 s, a preemption 0 s of work, a move to other nodes 0 s');
INSERT INTO "events" VALUES(2,0,13140812432,'start',0,'n0:2');
INSERT INTO "events" VALUES(2,1,116600924014,'start',1,'n0:2');
INSERT INTO "events" VALUES(2,2,119817485079,'stop',1,NULL);
INSERT INTO "events" VALUES(2,3,119817485079,'start',2,'n0:2');
INSERT INTO "events" VALUES(2,4,166927361264,'finish',0,NULL);
INSERT INTO "events" VALUES(2,5,166927361264,'start',1,'n0:2');
INSERT INTO "events" VALUES(2,6,208506965096,'finish',2,NULL);
INSERT INTO "events" VALUES(2,7,1035858934730,'finish',1,NULL);
INSERT INTO "events" VALUES(2,8,0,'remark',0,'no interval if a run has too few values or their correlation extends too far: --replications 10 gives intervals (of a trace from a file with --resample)');
INSERT INTO "events" VALUES(2,9,0,'assumption',0,'a job takes its recorded duration on every GPU type (jobs.reference_type scales it)');
INSERT INTO "events" VALUES(2,10,0,'assumption',0,'placement: count; a start costs 0 s, a preemption 0 s of work, a move to other nodes 0 s');
INSERT INTO "events" VALUES(3,0,68000862431,'start',0,'n0:2');
INSERT INTO "events" VALUES(3,1,129833124530,'start',1,'n0:2');
INSERT INTO "events" VALUES(3,2,339982099320,'finish',0,NULL);
INSERT INTO "events" VALUES(3,3,339982099320,'start',2,'n0:2');
INSERT INTO "events" VALUES(3,4,621889454837,'finish',1,NULL);
INSERT INTO "events" VALUES(3,5,749521696139,'finish',2,NULL);
INSERT INTO "events" VALUES(3,6,0,'remark',0,'no interval if a run has too few values or their correlation extends too far: --replications 10 gives intervals (of a trace from a file with --resample)');
INSERT INTO "events" VALUES(3,7,0,'assumption',0,'a job takes its recorded duration on every GPU type (jobs.reference_type scales it)');
INSERT INTO "events" VALUES(3,8,0,'assumption',0,'placement: count; a start costs 0 s, a preemption 0 s of work, a move to other nodes 0 s');
INSERT INTO "events" VALUES(4,0,0,'choice',0,'2 replicas, 5 all-reduces (ddp), overlapped');
INSERT INTO "events" VALUES(4,1,0,'steady-state',0,'all 2 iterations simulated');
INSERT INTO "events" VALUES(4,2,0,'cost-source',0,'profile v100 (DeepBench, results of Baidu, 2019; median error 14 %, mean 20 %) for gemm, conv (its laws here: 15 %); the data sheet''s roofline for conv, memory, update; outside the range of its laws: 104 of 158 kernels (conv 104); collectives inside a node by all-reduces measured on NVIDIA Tesla V100 SXM2 16 GB');
INSERT INTO "events" VALUES(5,0,0,'remark',0,'no interval if a run has too few values or their correlation extends too far: --replications 10 gives intervals (of a trace from a file with --resample)');
INSERT INTO "events" VALUES(5,1,0,'cost-source',0,'mm1: M/M/1');
INSERT INTO "events" VALUES(5,2,0,'prices',0,'v100: 3.06 USD per GPU hour (AWS p3.2xlarge on demand; u39kun/deep-learning-benchmark, README)');
INSERT INTO "events" VALUES(5,3,0,'assumption',0,'mm1: latencies of its table on any GPU type');
CREATE TABLE iterations(
  run INTEGER NOT NULL REFERENCES runs(run),
  number INTEGER NOT NULL,
  start_s REAL, end_s REAL, samples REAL,
  PRIMARY KEY(run, number)) WITHOUT ROWID;
INSERT INTO "iterations" VALUES(4,0,0.0,9.18423400560816477478e-02,64.0);
INSERT INTO "iterations" VALUES(4,1,9.18423400560816477478e-02,1.83684680112163323251e-01,64.0);
CREATE TABLE jobs(
  key INTEGER PRIMARY KEY,
  run INTEGER AS (key >> 32),
  number INTEGER AS (key & 4294967295),
  job_id TEXT, user TEXT, queue TEXT, model TEXT,
  submit_ns INTEGER, start_ns INTEGER, end_ns INTEGER,
  wait_ns INTEGER, run_ns INTEGER, duration_ns INTEGER, recorded_wait_ns INTEGER,
  gpus INTEGER NOT NULL, gpu_milli INTEGER NOT NULL,
  preemptions INTEGER NOT NULL, migrations INTEGER NOT NULL, restarts INTEGER NOT NULL,
  status INTEGER NOT NULL);
INSERT INTO "jobs" VALUES(4294967296,NULL,NULL,NULL,NULL,13140812432,13140812432,166927361264,0,153786548832,153786548832,NULL,2,1000,0,0,0,0);
INSERT INTO "jobs" VALUES(4294967297,NULL,NULL,NULL,NULL,116600924014,116600924014,988749058545,0,872148134531,872148134531,NULL,2,1000,0,0,0,0);
INSERT INTO "jobs" VALUES(4294967298,NULL,NULL,NULL,NULL,119817485079,166927361264,255616841281,47109876185,88689480017,88689480017,NULL,2,1000,0,0,0,0);
INSERT INTO "jobs" VALUES(8589934592,NULL,NULL,NULL,NULL,13140812432,13140812432,166927361264,0,153786548832,153786548832,NULL,2,1000,0,0,0,0);
INSERT INTO "jobs" VALUES(8589934593,NULL,NULL,NULL,NULL,116600924014,116600924014,1035858934730,47109876185,872148134531,872148134531,NULL,2,1000,1,0,0,0);
INSERT INTO "jobs" VALUES(8589934594,NULL,NULL,NULL,NULL,119817485079,119817485079,208506965096,0,88689480017,88689480017,NULL,2,1000,0,0,0,0);
INSERT INTO "jobs" VALUES(12884901888,NULL,NULL,NULL,NULL,68000862431,68000862431,339982099320,0,271981236889,271981236889,NULL,2,1000,0,0,0,0);
INSERT INTO "jobs" VALUES(12884901889,NULL,NULL,NULL,NULL,129833124530,129833124530,621889454837,0,492056330307,492056330307,NULL,2,1000,0,0,0,0);
INSERT INTO "jobs" VALUES(12884901890,NULL,NULL,NULL,NULL,159558171311,339982099320,749521696139,180423928009,409539596819,409539596819,NULL,2,1000,0,0,0,0);
CREATE TABLE metrics(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  value REAL, ci_low REAL, ci_high REAL,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
INSERT INTO "metrics" VALUES(1,0,'jct_mean',3.87244679855000242703e+02,NULL,NULL);
INSERT INTO "metrics" VALUES(1,1,'jct_p50',153.786548832,NULL,NULL);
INSERT INTO "metrics" VALUES(1,2,'jct_p95',800.3119759611,NULL,NULL);
INSERT INTO "metrics" VALUES(1,3,'jct_p99',857.78090281702,NULL,NULL);
INSERT INTO "metrics" VALUES(1,4,'jct_max',872.148134531,NULL,NULL);
INSERT INTO "metrics" VALUES(1,5,'wait_mean',1.5703292061666616064e+01,NULL,NULL);
INSERT INTO "metrics" VALUES(1,6,'wait_p50',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(1,7,'wait_p99',4.6167678661299994757e+01,NULL,NULL);
INSERT INTO "metrics" VALUES(1,8,'slowdown_mean',1.17705924150929308602e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(1,9,'slowdown_p99',1.52055417003742254777e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(1,10,'makespan',975.608246113,NULL,NULL);
INSERT INTO "metrics" VALUES(1,11,'utilisation',5.71245767868847287296e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(1,12,'gpu_hours',6.19235646322222277326e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(1,13,'queue_length_mean',4.82876978261451567098e-02,NULL,NULL);
INSERT INTO "metrics" VALUES(1,14,'queue_length_max',1.0,NULL,NULL);
INSERT INTO "metrics" VALUES(1,15,'stranded_gpus',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(1,16,'fragmentation',4.28754232131152712703e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(1,17,'jain_slowdown',9.66936279738547344031e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(1,18,'ftf_mean',1.1016156172473268171e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(1,19,'ftf_max',1.30484685174198022927e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(1,20,'jobs',3.0,NULL,NULL);
INSERT INTO "metrics" VALUES(1,21,'jobs_completed',3.0,NULL,NULL);
INSERT INTO "metrics" VALUES(1,22,'jobs_killed',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(1,23,'jobs_failed',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(1,24,'jobs_unfinished',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(1,25,'jobs_refused',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(1,26,'preemptions',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(1,27,'migrations',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(1,28,'restarts',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(1,29,'events',6.0,NULL,NULL);
INSERT INTO "metrics" VALUES(2,0,'jct_mean',3.87244679855000242703e+02,NULL,NULL);
INSERT INTO "metrics" VALUES(2,1,'jct_p50',153.786548832,NULL,NULL);
INSERT INTO "metrics" VALUES(2,2,'jct_p95',8.42710864527599937904e+02,NULL,NULL);
INSERT INTO "metrics" VALUES(2,3,'jct_p99',903.94858147832,NULL,NULL);
INSERT INTO "metrics" VALUES(2,4,'jct_max',919.258010716,NULL,NULL);
INSERT INTO "metrics" VALUES(2,5,'wait_mean',1.5703292061666616064e+01,NULL,NULL);
INSERT INTO "metrics" VALUES(2,6,'wait_p50',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(2,7,'wait_p99',4.6167678661299994757e+01,NULL,NULL);
INSERT INTO "metrics" VALUES(2,8,'slowdown_mean',1.01800530373202491318e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(2,9,'slowdown_p99',1.05293559297254790685e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(2,10,'makespan',1022.718122298,NULL,NULL);
INSERT INTO "metrics" VALUES(2,11,'utilisation',5.44932244319427550038e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(2,12,'gpu_hours',6.19235646322222277326e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(2,13,'queue_length_mean',4.60634021807947435789e-02,NULL,NULL);
INSERT INTO "metrics" VALUES(2,14,'queue_length_max',1.0,NULL,NULL);
INSERT INTO "metrics" VALUES(2,15,'stranded_gpus',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(2,16,'fragmentation',4.55067755680572394449e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(2,17,'jain_slowdown',9.99396273525224865252e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(2,18,'ftf_mean',9.48053976413827270697e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(2,19,'ftf_max',1.05401591119647752847e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(2,20,'jobs',3.0,NULL,NULL);
INSERT INTO "metrics" VALUES(2,21,'jobs_completed',3.0,NULL,NULL);
INSERT INTO "metrics" VALUES(2,22,'jobs_killed',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(2,23,'jobs_failed',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(2,24,'jobs_unfinished',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(2,25,'jobs_refused',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(2,26,'preemptions',1.0,NULL,NULL);
INSERT INTO "metrics" VALUES(2,27,'migrations',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(2,28,'restarts',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(2,29,'events',6.0,NULL,NULL);
INSERT INTO "metrics" VALUES(3,0,'jct_mean',4.51333697341333390812e+02,NULL,NULL);
INSERT INTO "metrics" VALUES(3,1,'jct_p50',492.056330307,NULL,NULL);
INSERT INTO "metrics" VALUES(3,2,'jct_p95',580.1728053759,NULL,NULL);
INSERT INTO "metrics" VALUES(3,3,'jct_p99',588.00538093758,NULL,NULL);
INSERT INTO "metrics" VALUES(3,4,'jct_max',589.963524828,NULL,NULL);
INSERT INTO "metrics" VALUES(3,5,'wait_mean',60.1413093363332,NULL,NULL);
INSERT INTO "metrics" VALUES(3,6,'wait_p50',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(3,7,'wait_p99',176.81544944882,NULL,NULL);
INSERT INTO "metrics" VALUES(3,8,'slowdown_mean',1.14685102442702668845e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(3,9,'slowdown_p99',1.43174201181568605534e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(3,10,'makespan',681.520833708,NULL,NULL);
INSERT INTO "metrics" VALUES(3,11,'utilisation',8.60998744256894710247e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(3,12,'gpu_hours',6.519873133416667077e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(3,13,'queue_length_mean',0.264737215775715,NULL,NULL);
INSERT INTO "metrics" VALUES(3,14,'queue_length_max',1.0,NULL,NULL);
INSERT INTO "metrics" VALUES(3,15,'stranded_gpus',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(3,16,'fragmentation',1.39001255743105234241e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(3,17,'jain_slowdown',9.74877352422472642778e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(3,18,'ftf_mean',1.01497906057836817517e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(3,19,'ftf_max',1.37886079564639296712e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(3,20,'jobs',3.0,NULL,NULL);
INSERT INTO "metrics" VALUES(3,21,'jobs_completed',3.0,NULL,NULL);
INSERT INTO "metrics" VALUES(3,22,'jobs_killed',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(3,23,'jobs_failed',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(3,24,'jobs_unfinished',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(3,25,'jobs_refused',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(3,26,'preemptions',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(3,27,'migrations',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(3,28,'restarts',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(3,29,'events',6.0,NULL,NULL);
INSERT INTO "metrics" VALUES(4,0,'samples_per_s',6.96846356058868764181e+02,NULL,NULL);
INSERT INTO "metrics" VALUES(4,1,'iteration_s',9.18423400560816755033e-02,NULL,NULL);
INSERT INTO "metrics" VALUES(4,2,'compute_s',9.09383684108929918332e-02,NULL,NULL);
INSERT INTO "metrics" VALUES(4,3,'exposed_s',4.83410149253737930763e-04,NULL,NULL);
INSERT INTO "metrics" VALUES(4,4,'bubble_s',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(4,5,'optimizer_s',4.2056149593494573935e-04,NULL,NULL);
INSERT INTO "metrics" VALUES(4,6,'idle_s',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(4,7,'peak_memory_bytes',2927998272.0,NULL,NULL);
INSERT INTO "metrics" VALUES(4,8,'sent_bytes',204456256.0,NULL,NULL);
INSERT INTO "metrics" VALUES(4,9,'sent_bytes_max',102228128.0,NULL,NULL);
INSERT INTO "metrics" VALUES(4,10,'iterations',2.0,NULL,NULL);
INSERT INTO "metrics" VALUES(4,11,'iterations_simulated',2.0,NULL,NULL);
INSERT INTO "metrics" VALUES(4,12,'period',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(4,13,'devices',2.0,NULL,NULL);
INSERT INTO "metrics" VALUES(4,14,'flows',20.0,NULL,NULL);
INSERT INTO "metrics" VALUES(4,15,'profile_error',1.49182848101265808082e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(4,16,'kernels',403.0,NULL,NULL);
INSERT INTO "metrics" VALUES(4,17,'kernels_by_law',158.0,NULL,NULL);
INSERT INTO "metrics" VALUES(4,18,'kernels_outside',104.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,0,'completion_mean',6.52674432099350609881e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(5,1,'completion_p50',5.91799236274288098513e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(5,2,'completion_p90',1.06193462125640558646e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(5,3,'completion_p99',1.16771508287738190468e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(5,4,'completion_max',1.17946846750193490294e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(5,5,'sample_completion_mean',6.52674432098980683569e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(5,6,'queue_mean',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,7,'queue_p50',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,8,'queue_p99',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,9,'duration',3.40708205450193490904e+00,NULL,NULL);
INSERT INTO "metrics" VALUES(5,10,'throughput',8.80518858075625576731e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(5,11,'goodput',8.80518858075625576731e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(5,12,'requests',3.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,13,'requests_completed',3.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,14,'requests_refused',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,15,'requests_shed',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,16,'requests_unfinished',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,17,'refused_context',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,18,'refused_kv_cache',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,19,'refused_batch_size',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,20,'refused_memory',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,21,'refused_no_replica',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,22,'refused_policy',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,23,'shed_queue_limit',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,24,'shed_deadline',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,25,'shed_policy',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,26,'preemptions',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,27,'restarts',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,28,'stacked_runs',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,29,'events',6.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,30,'utilisation',3.20183823878333939649e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(5,31,'in_system_mean',5.74692145769292284107e-01,NULL,NULL);
INSERT INTO "metrics" VALUES(5,32,'in_system_max',1.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,33,'replica_hours',1.69869718430609305433e-03,NULL,NULL);
INSERT INTO "metrics" VALUES(5,34,'gpu_hours',1.69869718430609305433e-03,NULL,NULL);
INSERT INTO "metrics" VALUES(5,35,'memory_use_mean',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,36,'memory_use_max',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,37,'padding_share',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,38,'lost_work',0.0,NULL,NULL);
INSERT INTO "metrics" VALUES(5,39,'usd',5.19801338397664521029e-03,NULL,NULL);
INSERT INTO "metrics" VALUES(5,40,'usd_per_million_samples',1.73267112799221490609e+03,NULL,NULL);
CREATE TABLE requests(
  key INTEGER PRIMARY KEY,
  run INTEGER AS (key >> 32),
  number INTEGER AS (key & 4294967295),
  request_id TEXT, model TEXT,
  arrival_s REAL, first_token_s REAL, completed_s REAL, queue_s REAL,
  prompt_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  preemptions INTEGER NOT NULL, replica INTEGER,
  status INTEGER NOT NULL);
INSERT INTO "requests" VALUES(21474836480,NULL,'mm1',2.708227809,2.89498340152071875763e+00,2.89498340152071875763e+00,0.0,1,0,0,0,0);
INSERT INTO "requests" VALUES(21474836481,NULL,'mm1',3.365414477,3.95721371327428794728e+00,3.95721371327428794728e+00,0.0,1,0,0,0,0);
INSERT INTO "requests" VALUES(21474836482,NULL,'mm1',4.935841396,6.11530986350193472844e+00,6.11530986350193472844e+00,0.0,1,0,0,0,0);
CREATE TABLE runs(
  run INTEGER PRIMARY KEY,
  hash TEXT NOT NULL,
  label TEXT NOT NULL,
  policy TEXT NOT NULL,
  world TEXT NOT NULL,
  is_oracle INTEGER NOT NULL,
  scenario TEXT NOT NULL,
  seed TEXT NOT NULL,
  version TEXT NOT NULL,
  rows_total INTEGER NOT NULL,
  wall_s REAL,
  cpu_s REAL,
  host TEXT NOT NULL,
  created_at TEXT NOT NULL,
  UNIQUE(hash, label));
INSERT INTO "runs" VALUES(1,'d28e8ccbee4f829384eac877ce1648e16b11232cd97cfb89b5e026d6a5a97be4','fifo','fifo','jobs',0,'{"world":"jobs","trace":"poisson:rate=0.02,n=3,mean=300,gpus=2","format":"poisson","trace_sha256":"1e2177d81b7331db1fb21b0635be11eff0b4968beba42412c009a10636c74a4e","cluster":"1x4:v100","cluster_sha256":"a8021057dbd1c538bfc0b4dc5672327dfb163460a4b57b3e42d761dcc095e4c1","placement":"count","jobs":{"start_cost":"0.000000000","preempt_cost":"0.000000000","migrate_cost":"0.000000000","checkpoint":"0.000000000","on_failure":"requeue","reference_type":"","type_order":"cluster","max_calls_per_instant":"1000","sharing_most":"8","sharing_tolerance":"0.01","sharing_iterations":"64","sharing_flows":"1000000","dependencies":"off","unshared":"false","memory_bytes":"0","disk_Bps":"0","memory_reload":"false","rho":"1","amm_recompute":"disk","amm_first_use":"counts","gantt":"200","warmup":"0","ci_level":"0.95"},"failures":{"trace":"","mtbf":"0.000000000","mttr":"3600.000000000","types":""},"seed":"7","until":"","drop_unfit":false,"completed_only":false,"record":"all","replications":"1","policy":{"policy":"fifo","label":"fifo","set":{}}}','7','0.1.0',3,1.0,1.0,'host','2026-11-01T00:00:00Z');
INSERT INTO "runs" VALUES(2,'4da1e45d3f73b64d87e34e194649a5af3b684a0a6ac71ec310c5c81e04755bec','srtf','srtf','jobs',1,'{"world":"jobs","trace":"poisson:rate=0.02,n=3,mean=300,gpus=2","format":"poisson","trace_sha256":"1e2177d81b7331db1fb21b0635be11eff0b4968beba42412c009a10636c74a4e","cluster":"1x4:v100","cluster_sha256":"a8021057dbd1c538bfc0b4dc5672327dfb163460a4b57b3e42d761dcc095e4c1","placement":"count","jobs":{"start_cost":"0.000000000","preempt_cost":"0.000000000","migrate_cost":"0.000000000","checkpoint":"0.000000000","on_failure":"requeue","reference_type":"","type_order":"cluster","max_calls_per_instant":"1000","sharing_most":"8","sharing_tolerance":"0.01","sharing_iterations":"64","sharing_flows":"1000000","dependencies":"off","unshared":"false","memory_bytes":"0","disk_Bps":"0","memory_reload":"false","rho":"1","amm_recompute":"disk","amm_first_use":"counts","gantt":"200","warmup":"0","ci_level":"0.95"},"failures":{"trace":"","mtbf":"0.000000000","mttr":"3600.000000000","types":""},"seed":"7","until":"","drop_unfit":false,"completed_only":false,"record":"all","replications":"1","policy":{"policy":"srtf","label":"srtf","set":{"rules":"own"}}}','7','0.1.0',3,1.0,1.0,'host','2026-11-01T00:00:00Z');
INSERT INTO "runs" VALUES(3,'70964ab814cc709c321c3cb93978b19c09637c095b55bce009849024bd0c9c3b','fifo','fifo','jobs',0,'{"world":"jobs","trace":"poisson:rate=0.02,n=3,mean=300,gpus=2","format":"poisson","trace_sha256":"a8573b1e721a867c83e9d84b34a9ea6508468b385e291f878d23363da7aa5850","cluster":"1x4:v100","cluster_sha256":"a8021057dbd1c538bfc0b4dc5672327dfb163460a4b57b3e42d761dcc095e4c1","placement":"count","jobs":{"start_cost":"0.000000000","preempt_cost":"0.000000000","migrate_cost":"0.000000000","checkpoint":"0.000000000","on_failure":"requeue","reference_type":"","type_order":"cluster","max_calls_per_instant":"1000","sharing_most":"8","sharing_tolerance":"0.01","sharing_iterations":"64","sharing_flows":"1000000","dependencies":"off","unshared":"false","memory_bytes":"0","disk_Bps":"0","memory_reload":"false","rho":"1","amm_recompute":"disk","amm_first_use":"counts","gantt":"200","warmup":"0","ci_level":"0.95"},"failures":{"trace":"","mtbf":"0.000000000","mttr":"3600.000000000","types":""},"seed":"8","until":"","drop_unfit":false,"completed_only":false,"record":"all","replications":"1","policy":{"policy":"fifo","label":"fifo","set":{}}}','8','0.1.0',3,1.0,1.0,'host','2026-11-01T00:00:00Z');
INSERT INTO "runs" VALUES(4,'e642dfc58eb2594eb8f826e4c14d5ea6d5985294cf3e20d7f7b29f9fea24a6e6','allreduce','allreduce','step',0,'{"world":"step","model":"resnet50","model_sha256":"2858e94f254d5346fde324d8459914b7f9e03703608c066341f24cfc1cb56e5e","cluster":"1x2:v100","cluster_sha256":"2973c124f91f4369bcdbbc761834e54ac3bb10a13355edb88f7a231683eb38e5","network":"star","network_sha256":"7fe82e60ddda6b398cc2e5471f33fa136c0aedd80112754b877a4601628e8449","devices":["afc92c43098012c7b792f0c73786048d1fa7d53e2894d1328dff5c13ef16152d"],"profile":"auto","profiles":["16b126471f49f3ad757681c6eab185c08902db3dc62b611d9da3b5870df9b49b"],"cost_samples":"0","precision":"fp32","batch":"32","step":{"iterations":"2","exact":"false","fidelity":"flow","algorithm":"auto","nic_efficiency":"0.96","pxn":"true","merge":"auto","optimizer":"sgd","compute_s":"0","fc_share":"-1","update_cost":"roofline","prices":"","ignore_memory":"false","compression":"none","interference":"occupancy","interference_loss":"0","interference_curve":"1","speeds":"","stragglers":"none","straggler_spread":"0.1","contention_p":"0","contention_f":"0.25","background":"","link_changes":""},"cost":{"measured":"false","fused_attention":"false","fused_elementwise":"false","dropout":"false","setup":"","efficiency":"0"},"seed":"1","replications":"1","policy":{"policy":"allreduce","label":"allreduce","set":{"algorithm":"default","overlap":"true","fusion":"ddp","bucket_bytes":"26214400","first_bucket_bytes":"1048576","fusion_bytes":"67108864","dense_inside":"false","ring_order":"rack","islands":"node","pipeline_chunks":"0","cycle":"0.001000000"}}}','1','0.1.0',2,1.0,1.0,'host','2026-11-01T00:00:00Z');
INSERT INTO "runs" VALUES(5,'488d5f6d3f47216b7e5cf3eb75735b532baaa29a8a780f4e9730d874196b12f6','fifo','fifo','serve',0,'{"world":"serve","trace":"poisson:rate=0.8,n=3","format":"poisson","trace_sha256":"4a097e57b74eafb3d6c49084b9a32ab3eb49e41c701471c331e19d01a12aa627","compress":"1","cluster":"1x1:v100","cluster_sha256":"0a72d4513944112f1dcf3f89a8eed74041de86865da11f8d9edf3f0d91229066","placement":"consolidate","devices":["afc92c43098012c7b792f0c73786048d1fa7d53e2894d1328dff5c13ef16152d"],"profile":"auto","profiles":["16b126471f49f3ad757681c6eab185c08902db3dc62b611d9da3b5870df9b49b"],"precision":"fp16","kv_precision":"auto","models":["../mm1.json"],"models_sha256":["697c38f598122c6ee9c60f4568de52e09bd9b248860052af50d4b1f7a6378c26"],"deployments":[{"model":"mm1","replicas":"1","tp":"1","pp":"1","role":"both","gpu_types":"","kv_blocks":"0","least":"0","most":"0"}],"serve":{"router":"auto","queue_limit":"0","shed":"no","autoscale":"none","scale_target":"8","scale_interval":"15.000000000","scale_quiet":"300.000000000","start_up":"0.000000000","notice":"0.000000000","clients":"0","think":"0.000000000","think_law":"exponential","sessions":"none","slo":"0.000000000","slo_ttft":"0.000000000","slo_tpot":"0.000000000","any_model":"false","interference":"none","slowdowns":"","slowdown_curve":"","utilisation_limit":"0","exit":"interval","exit_interval":"0.000000000","resume_cost":"0.000000000","preloaded":"true","kv_block":"16","kv_part":"0.9","engine":"ideal","kv_reads":"0","prefix_cache":"false","swap_Bps":"16000000000","kv_Bps":"25000000000","kv_latency":"0.000000000","kv_overlap":"false","front":"none","front_Bps":"0","front_latency":"0.000000000","loss":"0","tbt":"tpot","quality":"","max_calls_per_instant":"1000","warmup":"0","ci_level":"0.95"},"failures":{"trace":"","mtbf":"0.000000000","mttr":"3600.000000000","types":""},"prices":{"v100":"3.06"},"seed":"1","until":"","record":"all","replications":"1","policy":{"policy":"fifo","label":"fifo","set":{"queue":"central"}}}','1','0.1.0',3,1.0,1.0,'host','2026-11-01T00:00:00Z');
CREATE TABLE series(
  run INTEGER NOT NULL REFERENCES runs(run),
  series INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY(run, series)) WITHOUT ROWID;
INSERT INTO "series" VALUES(1,0,'utilisation');
INSERT INTO "series" VALUES(1,1,'queue_length');
INSERT INTO "series" VALUES(1,2,'stranded_gpus');
INSERT INTO "series" VALUES(2,0,'utilisation');
INSERT INTO "series" VALUES(2,1,'queue_length');
INSERT INTO "series" VALUES(2,2,'stranded_gpus');
INSERT INTO "series" VALUES(3,0,'utilisation');
INSERT INTO "series" VALUES(3,1,'queue_length');
INSERT INTO "series" VALUES(3,2,'stranded_gpus');
INSERT INTO "series" VALUES(5,0,'in_system');
INSERT INTO "series" VALUES(5,1,'busy_gpus');
INSERT INTO "series" VALUES(5,2,'up_gpus');
CREATE TABLE series_points(
  run INTEGER NOT NULL REFERENCES runs(run),
  series INTEGER NOT NULL,
  point INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,
  value REAL,
  PRIMARY KEY(run, series, point)) WITHOUT ROWID;
INSERT INTO "series_points" VALUES(1,0,0,13140812432,0.5);
INSERT INTO "series_points" VALUES(1,0,1,14140812432,0.5);
INSERT INTO "series_points" VALUES(1,0,2,15140812432,0.5);
INSERT INTO "series_points" VALUES(1,1,0,13140812432,0.0);
INSERT INTO "series_points" VALUES(1,1,1,14140812432,0.0);
INSERT INTO "series_points" VALUES(1,1,2,15140812432,0.0);
INSERT INTO "series_points" VALUES(1,2,0,13140812432,0.0);
INSERT INTO "series_points" VALUES(1,2,1,14140812432,0.0);
INSERT INTO "series_points" VALUES(1,2,2,15140812432,0.0);
INSERT INTO "series_points" VALUES(2,0,0,13140812432,0.5);
INSERT INTO "series_points" VALUES(2,0,1,14140812432,0.5);
INSERT INTO "series_points" VALUES(2,0,2,15140812432,0.5);
INSERT INTO "series_points" VALUES(2,1,0,13140812432,0.0);
INSERT INTO "series_points" VALUES(2,1,1,14140812432,0.0);
INSERT INTO "series_points" VALUES(2,1,2,15140812432,0.0);
INSERT INTO "series_points" VALUES(2,2,0,13140812432,0.0);
INSERT INTO "series_points" VALUES(2,2,1,14140812432,0.0);
INSERT INTO "series_points" VALUES(2,2,2,15140812432,0.0);
INSERT INTO "series_points" VALUES(3,0,0,68000862431,0.5);
INSERT INTO "series_points" VALUES(3,0,1,69000862431,0.5);
INSERT INTO "series_points" VALUES(3,0,2,70000862431,0.5);
INSERT INTO "series_points" VALUES(3,1,0,68000862431,0.0);
INSERT INTO "series_points" VALUES(3,1,1,69000862431,0.0);
INSERT INTO "series_points" VALUES(3,1,2,70000862431,0.0);
INSERT INTO "series_points" VALUES(3,2,0,68000862431,0.0);
INSERT INTO "series_points" VALUES(3,2,1,69000862431,0.0);
INSERT INTO "series_points" VALUES(3,2,2,70000862431,0.0);
INSERT INTO "series_points" VALUES(5,0,0,2708227809,0.529568925);
INSERT INTO "series_points" VALUES(5,0,1,3708227809,0.248985904);
INSERT INTO "series_points" VALUES(5,0,2,4708227809,0.772386413);
INSERT INTO "series_points" VALUES(5,1,0,2708227809,0.529568925);
INSERT INTO "series_points" VALUES(5,1,1,3708227809,0.248985904);
INSERT INTO "series_points" VALUES(5,1,2,4708227809,0.772386413);
INSERT INTO "series_points" VALUES(5,2,0,2708227809,1.0);
INSERT INTO "series_points" VALUES(5,2,1,3708227809,1.0);
INSERT INTO "series_points" VALUES(5,2,2,4708227809,1.0);
CREATE TABLE spans(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  device INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  start_s REAL, end_s REAL,
  kind TEXT NOT NULL,
  label TEXT,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
INSERT INTO "spans" VALUES(4,0,0,0,0,0.0,2.95031914519880388014e-02,'forward',NULL);
INSERT INTO "spans" VALUES(4,1,0,0,0,2.95031914519880388014e-02,2.95725890599927536406e-02,'backward',NULL);
INSERT INTO "spans" VALUES(4,2,0,1,0,2.95725890599927536406e-02,2.99875741346196204861e-02,'send','all-reduce layers 173..174');
INSERT INTO "spans" VALUES(4,3,0,0,0,2.95725890599927536406e-02,3.32828691715874314116e-02,'backward',NULL);
CREATE VIEW jobs_s AS
  SELECT j.run, r.label, r.policy, j.number,
    coalesce(j.job_id, CAST(j.number AS TEXT)) AS job_id,
    j.user, j.queue, j.model, j.gpus, j.gpu_milli,
    j.submit_ns / 1e9 AS submit_s, j.start_ns / 1e9 AS start_s, j.end_ns / 1e9 AS end_s,
    (j.end_ns - j.submit_ns) / 1e9 AS jct_s,
    j.wait_ns / 1e9 AS wait_s, j.run_ns / 1e9 AS run_s, j.duration_ns / 1e9 AS duration_s,
    j.recorded_wait_ns / 1e9 AS recorded_wait_s,
    CASE WHEN j.duration_ns > 0 THEN (j.end_ns - j.submit_ns) * 1.0 / j.duration_ns END AS slowdown,
    j.preemptions, j.migrations, j.restarts,
    CASE j.status WHEN 0 THEN 'completed' WHEN 1 THEN 'killed' WHEN 2 THEN 'failed'
      WHEN 3 THEN 'unfinished' END AS status
  FROM runs r
  JOIN jobs j ON j.key BETWEEN r.run << 32 AND (r.run << 32) + 4294967295;
CREATE VIEW summary AS
  SELECT r.run, r.label, r.policy, r.is_oracle, r.seed,
    m.name AS metric, m.value, m.ci_low, m.ci_high
  FROM metrics m JOIN runs r USING(run)
  ORDER BY r.run, m.position;
CREATE VIEW job_pairs AS
  SELECT ra.run AS run_a, rb.run AS run_b, ra.label AS label_a, rb.label AS label_b,
    a.number, coalesce(a.job_id, CAST(a.number AS TEXT)) AS job_id, a.gpus,
    (a.end_ns - a.submit_ns) / 1e9 AS jct_a_s,
    (b.end_ns - b.submit_ns) / 1e9 AS jct_b_s,
    ((b.end_ns - b.submit_ns) - (a.end_ns - a.submit_ns)) / 1e9 AS jct_diff_s,
    (b.wait_ns - a.wait_ns) / 1e9 AS wait_diff_s
  FROM runs ra
  JOIN runs rb ON rb.run <> ra.run
  JOIN jobs a ON a.key BETWEEN ra.run << 32 AND (ra.run << 32) + 4294967295
  JOIN jobs b ON b.key = (rb.run << 32) + a.number
    AND b.submit_ns IS a.submit_ns AND b.job_id IS a.job_id;
CREATE VIEW series_s AS
  SELECT p.run, r.label, s.name, p.point, p.time_ns / 1e9 AS time_s, p.value
  FROM series_points p JOIN series s USING(run, series) JOIN runs r USING(run);
CREATE VIEW events_s AS
  SELECT e.run, r.label, e.position, e.time_ns / 1e9 AS time_s, e.kind, e.subject, e.detail
  FROM events e JOIN runs r USING(run);
CREATE VIEW requests_s AS
  SELECT q.run, r.label, r.policy, q.number,
    coalesce(q.request_id, CAST(q.number AS TEXT)) AS request_id, q.model,
    q.prompt_tokens, q.output_tokens,
    q.arrival_s, q.first_token_s, q.completed_s, q.queue_s,
    q.completed_s - q.arrival_s AS e2e_s,
    q.first_token_s - q.arrival_s AS ttft_s,
    CASE WHEN q.output_tokens > 1 THEN (q.completed_s - q.first_token_s) / (q.output_tokens - 1) END AS tpot_s,
    q.preemptions, q.replica,
    CASE q.status WHEN 0 THEN 'completed' WHEN 1 THEN 'refused' WHEN 2 THEN 'shed'
      WHEN 3 THEN 'unfinished' END AS status
  FROM runs r
  JOIN requests q ON q.key BETWEEN r.run << 32 AND (r.run << 32) + 4294967295;
CREATE VIEW request_pairs AS
  SELECT ra.run AS run_a, rb.run AS run_b, ra.label AS label_a, rb.label AS label_b,
    a.number, coalesce(a.request_id, CAST(a.number AS TEXT)) AS request_id, a.model,
    a.prompt_tokens, a.output_tokens,
    a.completed_s - a.arrival_s AS e2e_a_s, b.completed_s - b.arrival_s AS e2e_b_s,
    b.completed_s - a.completed_s AS e2e_diff_s
  FROM runs ra
  JOIN runs rb ON rb.run <> ra.run
  JOIN requests a ON a.key BETWEEN ra.run << 32 AND (ra.run << 32) + 4294967295
  JOIN requests b ON b.key = (rb.run << 32) + a.number
    AND b.arrival_s IS a.arrival_s AND b.request_id IS a.request_id;
COMMIT;
