-- A database as schema 6 had it: runs of the jobs and serve worlds, three with parts, without series. Its digest: a51664a9ff06ebfa745d848cbc838d3a611e2e861c947bcdf920cdfaf6d1fd1e
PRAGMA application_id=1869771385; PRAGMA user_version=6;
BEGIN TRANSACTION;
CREATE TABLE scenarios(
  base INTEGER PRIMARY KEY,
  text TEXT NOT NULL);
INSERT INTO scenarios VALUES(-2390782808807765169,'{"world":"serve","trace":"poisson:rate=4,n=6,prompt=20,output=3","format":"poisson","trace_sha256":"6df4aadb9bbe53d8e666d916a82445fd547693f9668073d64b6bd9f2ef40ea58","compress":"1","cluster":"1x1:a100","cluster_sha256":"423c503eadf6d956f0e97a642bfccbea24d23b7341c4c276f6a0e2670031dd3a","placement":"consolidate","devices":["f65185e5fa197bed4efd9a2741413f1878031391403bad82b9e3bba86c76a5ca"],"profile":"auto","profiles":["54f248e6aa172919dd3fa33fb5d669ad9c12d3e228a909896626958798089c01"],"precision":"fp16","kv_precision":"auto","models":["llama2-7b"],"models_sha256":["d2a1e3dc506c89e9135b21e1ff970488d1732bca63020a742c0152b3cc6d5edb"],"deployments":[{"model":"llama2-7b","replicas":"1","tp":"1","pp":"1","role":"both","gpu_types":"","kv_blocks":"0","least":"0","most":"0"}],"serve":{"router":"auto","queue_limit":"0","shed":"no","autoscale":"none","scale_target":"8","scale_interval":"15.000000000","scale_quiet":"300.000000000","start_up":"0.000000000","notice":"0.000000000","clients":"0","think":"0.000000000","think_law":"exponential","sessions":"none","slo":"0.000000000","slo_ttft":"0.000000000","slo_tpot":"0.000000000","any_model":"false","interference":"none","slowdowns":"","slowdown_curve":"","utilisation_limit":"0","exit":"interval","exit_interval":"0.000000000","resume_cost":"0.000000000","preloaded":"true","kv_block":"16","kv_part":"0.9","engine":"ideal","kv_reads":"0","prefix_cache":"false","swap_Bps":"16000000000","kv_Bps":"25000000000","kv_latency":"0.000000000","kv_overlap":"false","front":"none","front_Bps":"0","front_latency":"0.000000000","loss":"0","tbt":"tpot","quality":"","max_calls_per_instant":"1000","warmup":"0","ci_level":"0.95"},"failures":{"trace":"","mtbf":"0.000000000","mttr":"3600.000000000","types":""},"prices":{"a100":"4.09625"},"seed":"1","until":"","record":"explain","replications":"1","policy":{"policy":"orca","label":"orca","set":{"max_batch":"128","reserve":"max","output":"2048"}}}');
INSERT INTO scenarios VALUES(3024536558894072537,'{"world":"jobs","trace":"t6.csv","format":"orrery","trace_sha256":"d6202bfb55df435958c18ddfa0328686897a207729e5cd58760dcc0fc7c30ebf","cluster":"1x8","cluster_sha256":"6c0e6b736188b5bdb2e4f8a3914ef9c550474cb9d4b9fd92af5e84b3fdeee7fd","placement":"count","jobs":{"start_cost":"0.000000000","preempt_cost":"0.000000000","migrate_cost":"0.000000000","checkpoint":"0.000000000","on_failure":"requeue","reference_type":"","type_order":"cluster","max_calls_per_instant":"1000","sharing_most":"8","sharing_tolerance":"0.01","sharing_iterations":"64","sharing_flows":"1000000","dependencies":"off","unshared":"false","memory_bytes":"0","disk_Bps":"0","memory_reload":"false","rho":"1","amm_recompute":"disk","amm_first_use":"counts","gantt":"200","warmup":"0","ci_level":"0.95"},"failures":{"trace":"","mtbf":"0.000000000","mttr":"3600.000000000","types":""},"seed":"1","until":"","drop_unfit":false,"completed_only":false,"record":"explain","replications":"1","policy":{"policy":"fifo","label":"fifo","set":{}}}');
CREATE TABLE runs(
  run INTEGER PRIMARY KEY,
  hash TEXT NOT NULL,
  label TEXT NOT NULL,
  policy TEXT NOT NULL,
  world TEXT NOT NULL,
  is_oracle INTEGER NOT NULL,
  seed TEXT NOT NULL,
  version TEXT NOT NULL,
  rows_total INTEGER NOT NULL,
  wall_s REAL,
  cpu_s REAL,
  host TEXT NOT NULL,
  created_at TEXT NOT NULL,
  base INTEGER NOT NULL REFERENCES scenarios(base),
  overrides TEXT,
  checksum TEXT NOT NULL,
  UNIQUE(hash, label));
INSERT INTO runs VALUES(1,'7b49ba0703c65b66befdecdcb98b3d4bded8d5319bb7a4dcaa3dce73cb9179ae','fifo','fifo','jobs',0,'1','0.1.0',4,0.0002211080000051879324,0.00021936699999999998865,'host','2026-11-23T21:52:42Z',3024536558894072537,NULL,'run:9c55e5855c85b138 jobs:63ec6fe5e4330942 metrics:a800e381c864c82e events:b5ec92a0ebbbde7a parts:d4a5eb38b0d0b139');
INSERT INTO runs VALUES(2,'5621f96cffcbe3fdbaf4c486dec28cb1fef2a021d5053e9cdc85f1a2c2e82158','easy-backfill','easy-backfill','jobs',1,'1','0.1.0',4,0.0021227500001259613782,0.00014931699999999993935,'host','2026-11-23T21:52:42Z',3024536558894072537,'{"policy":{"policy":"easy-backfill","label":"easy-backfill","set":{"estimate":"limit","factor":"1","overrun":"extend"}}}','run:8744e56b9bcee3db jobs:28fd7ae012a4ee8b metrics:cb25f73a991279ad events:f9d8c60f6454e425 parts:f4e93cd5d17d90db');
INSERT INTO runs VALUES(3,'4ad889116cb50cfc60d3df95f69f480c3fa5c46c89d1132198c1b220be66e376','orca','orca','serve',0,'1','0.1.0',6,0.0017498380002507474273,0.0017454230000000002867,'host','2026-11-23T21:52:43Z',-2390782808807765169,NULL,'run:b60c4f92324569c8 metrics:c47360257c7367a1 events:f1e3dbf83d990130 requests:cbf3eddbaae9eff1 replicas:8eab81b36e461fb8 parts:0c5c56742aca045f');
INSERT INTO runs VALUES(4,'3c58b12d50a6a3c1c89fb22c791e3d823c3fc8b3c1d08a87329e8e19fdc47361','srtf','srtf','jobs',1,'1','0.1.0',3,0.00018073599994750111363,0.00017847300000000017317,'host','2026-11-23T21:52:43Z',3024536558894072537,'{"trace":"poisson:rate=0.01,n=3","format":"poisson","trace_sha256":"89a3350c4481b84b5b37601a5133bd1a68ee683f75c4577fed15309a91d4da6d","record":"all","policy":{"policy":"srtf","label":"srtf","set":{"rules":"own"}}}','run:1989cf08e5395697 jobs:c831a79745cc1a65 metrics:24010facd5d904f2 events:012ee94bc5e946fe');
CREATE TABLE series(
  run INTEGER NOT NULL REFERENCES runs(run),
  series INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY(run, series)) WITHOUT ROWID;
CREATE TABLE series_points(
  run INTEGER NOT NULL REFERENCES runs(run),
  series INTEGER NOT NULL,
  point INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,
  value REAL,
  PRIMARY KEY(run, series, point)) WITHOUT ROWID;
CREATE TABLE failures(
  hash TEXT NOT NULL,
  label TEXT NOT NULL,
  point TEXT NOT NULL,
  error TEXT NOT NULL,
  tries INTEGER NOT NULL,
  PRIMARY KEY(hash, label)) WITHOUT ROWID;
CREATE TABLE jobs(
  key INTEGER PRIMARY KEY,
  run INTEGER AS (key >> 32),
  number INTEGER AS (key & 4294967295),
  job_id TEXT,
  user TEXT,
  queue TEXT,
  model TEXT,
  submit_ns INTEGER,
  start_ns INTEGER,
  end_ns INTEGER,
  wait_ns INTEGER,
  run_ns INTEGER,
  duration_ns INTEGER,
  recorded_wait_ns INTEGER,
  gpus INTEGER NOT NULL,
  gpu_milli INTEGER NOT NULL,
  preemptions INTEGER NOT NULL,
  migrations INTEGER NOT NULL,
  restarts INTEGER NOT NULL,
  status INTEGER NOT NULL);
INSERT INTO jobs VALUES(4294967296,'j0',NULL,NULL,NULL,0,0,100000000000,0,100000000000,100000000000,NULL,8,1000,0,0,0,0);
INSERT INTO jobs VALUES(4294967297,'j1',NULL,NULL,NULL,5000000000,100000000000,150000000000,95000000000,50000000000,50000000000,NULL,4,1000,0,0,0,0);
INSERT INTO jobs VALUES(4294967298,'j"2\',NULL,NULL,NULL,6000000000,150000000000,170000000000,144000000000,20000000000,20000000000,NULL,8,1000,0,0,0,0);
INSERT INTO jobs VALUES(4294967299,'j3',NULL,NULL,NULL,7000000000,170000000000,180000000000,163000000000,10000000000,10000000000,NULL,2,1000,0,0,0,0);
INSERT INTO jobs VALUES(8589934592,'j0',NULL,NULL,NULL,0,0,100000000000,0,100000000000,100000000000,NULL,8,1000,0,0,0,0);
INSERT INTO jobs VALUES(8589934593,'j1',NULL,NULL,NULL,5000000000,100000000000,150000000000,95000000000,50000000000,50000000000,NULL,4,1000,0,0,0,0);
INSERT INTO jobs VALUES(8589934594,'j"2\',NULL,NULL,NULL,6000000000,150000000000,170000000000,144000000000,20000000000,20000000000,NULL,8,1000,0,0,0,0);
INSERT INTO jobs VALUES(8589934595,'j3',NULL,NULL,NULL,7000000000,100000000000,110000000000,93000000000,10000000000,10000000000,NULL,2,1000,0,0,0,0);
INSERT INTO jobs VALUES(17179869184,NULL,NULL,NULL,NULL,130765640229,130765640229,132007811233,0,1242171004,1242171004,NULL,1,1000,0,0,0,0);
INSERT INTO jobs VALUES(17179869185,NULL,NULL,NULL,NULL,310734634015,310734634015,311343892497,0,609258482,609258482,NULL,1,1000,0,0,0,0);
INSERT INTO jobs VALUES(17179869186,NULL,NULL,NULL,NULL,318479877245,318479877245,320175061737,0,1695184492,1695184492,NULL,1,1000,0,0,0,0);
CREATE TABLE metrics(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  value REAL,
  ci_low REAL,
  ci_high REAL,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
INSERT INTO metrics VALUES(1,0,'jct_mean',145.5,NULL,NULL);
INSERT INTO metrics VALUES(1,1,'jct_p50',154.49999999999999999,NULL,NULL);
INSERT INTO metrics VALUES(1,2,'jct_p95',171.65000000000000568,NULL,NULL);
INSERT INTO metrics VALUES(1,3,'jct_p99',172.72999999999998976,NULL,NULL);
INSERT INTO metrics VALUES(1,4,'jct_max',173.0,NULL,NULL);
INSERT INTO metrics VALUES(1,5,'wait_mean',100.49999999999999999,NULL,NULL);
INSERT INTO metrics VALUES(1,6,'wait_p50',119.5,NULL,NULL);
INSERT INTO metrics VALUES(1,7,'wait_p99',162.43000000000000682,NULL,NULL);
INSERT INTO metrics VALUES(1,8,'slowdown_mean',7.3499999999999090505,NULL,NULL);
INSERT INTO metrics VALUES(1,9,'slowdown_p99',17.027000000000001023,NULL,NULL);
INSERT INTO metrics VALUES(1,10,'makespan',180.0,NULL,NULL);
INSERT INTO metrics VALUES(1,11,'utilisation',0.81944444444444441977,NULL,NULL);
INSERT INTO metrics VALUES(1,12,'gpu_hours',0.32777777777777777901,NULL,NULL);
INSERT INTO metrics VALUES(1,13,'queue_length_mean',2.2333333333333333925,NULL,NULL);
INSERT INTO metrics VALUES(1,14,'queue_length_max',3.0,NULL,NULL);
INSERT INTO metrics VALUES(1,15,'stranded_gpus',1.1111111111111111604,NULL,NULL);
INSERT INTO metrics VALUES(1,16,'fragmentation',0.18055555555555555247,NULL,NULL);
INSERT INTO metrics VALUES(1,17,'jain_slowdown',0.51101737855661333309,NULL,NULL);
INSERT INTO metrics VALUES(1,18,'ftf_mean',5.3844456307018635499,NULL,NULL);
INSERT INTO metrics VALUES(1,19,'ftf_max',17.30000000000000071,NULL,NULL);
INSERT INTO metrics VALUES(1,20,'jobs',4.0,NULL,NULL);
INSERT INTO metrics VALUES(1,21,'jobs_completed',4.0,NULL,NULL);
INSERT INTO metrics VALUES(1,22,'jobs_killed',0.0,NULL,NULL);
INSERT INTO metrics VALUES(1,23,'jobs_failed',0.0,NULL,NULL);
INSERT INTO metrics VALUES(1,24,'jobs_unfinished',0.0,NULL,NULL);
INSERT INTO metrics VALUES(1,25,'jobs_refused',0.0,NULL,NULL);
INSERT INTO metrics VALUES(1,26,'preemptions',0.0,NULL,NULL);
INSERT INTO metrics VALUES(1,27,'migrations',0.0,NULL,NULL);
INSERT INTO metrics VALUES(1,28,'restarts',0.0,NULL,NULL);
INSERT INTO metrics VALUES(1,29,'events',8.0,NULL,NULL);
INSERT INTO metrics VALUES(2,0,'jct_mean',128.0,NULL,NULL);
INSERT INTO metrics VALUES(2,1,'jct_p50',124.0,NULL,NULL);
INSERT INTO metrics VALUES(2,2,'jct_p95',161.14999999999997725,NULL,NULL);
INSERT INTO metrics VALUES(2,3,'jct_p99',163.43000000000000681,NULL,NULL);
INSERT INTO metrics VALUES(2,4,'jct_max',164.0,NULL,NULL);
INSERT INTO metrics VALUES(2,5,'wait_mean',83.0,NULL,NULL);
INSERT INTO metrics VALUES(2,6,'wait_p50',94.0,NULL,NULL);
INSERT INTO metrics VALUES(2,7,'wait_p99',142.52999999999997272,NULL,NULL);
INSERT INTO metrics VALUES(2,8,'slowdown_mean',5.5999999999999090505,NULL,NULL);
INSERT INTO metrics VALUES(2,9,'slowdown_p99',10.237000000000000099,NULL,NULL);
INSERT INTO metrics VALUES(2,10,'makespan',170.0,NULL,NULL);
INSERT INTO metrics VALUES(2,11,'utilisation',0.86764705882352943788,NULL,NULL);
INSERT INTO metrics VALUES(2,12,'gpu_hours',0.32777777777777777901,NULL,NULL);
INSERT INTO metrics VALUES(2,13,'queue_length_mean',1.9529411764705881804,NULL,NULL);
INSERT INTO metrics VALUES(2,14,'queue_length_max',3.0,NULL,NULL);
INSERT INTO metrics VALUES(2,15,'stranded_gpus',1.0588235294117647189,NULL,NULL);
INSERT INTO metrics VALUES(2,16,'fragmentation',0.13235294117647058986,NULL,NULL);
INSERT INTO metrics VALUES(2,17,'jain_slowdown',0.53482956211933929679,NULL,NULL);
INSERT INTO metrics VALUES(2,18,'ftf_mean',3.7379124464313298048,NULL,NULL);
INSERT INTO metrics VALUES(2,19,'ftf_max',10.30000000000000071,NULL,NULL);
INSERT INTO metrics VALUES(2,20,'jobs',4.0,NULL,NULL);
INSERT INTO metrics VALUES(2,21,'jobs_completed',4.0,NULL,NULL);
INSERT INTO metrics VALUES(2,22,'jobs_killed',0.0,NULL,NULL);
INSERT INTO metrics VALUES(2,23,'jobs_failed',0.0,NULL,NULL);
INSERT INTO metrics VALUES(2,24,'jobs_unfinished',0.0,NULL,NULL);
INSERT INTO metrics VALUES(2,25,'jobs_refused',0.0,NULL,NULL);
INSERT INTO metrics VALUES(2,26,'preemptions',0.0,NULL,NULL);
INSERT INTO metrics VALUES(2,27,'migrations',0.0,NULL,NULL);
INSERT INTO metrics VALUES(2,28,'restarts',0.0,NULL,NULL);
INSERT INTO metrics VALUES(2,29,'events',11.0,NULL,NULL);
INSERT INTO metrics VALUES(3,0,'completion_mean',0.038253406953875433715,NULL,NULL);
INSERT INTO metrics VALUES(3,1,'completion_p50',0.037790249434167977327,NULL,NULL);
INSERT INTO metrics VALUES(3,2,'completion_p90',0.039179721994420546593,NULL,NULL);
INSERT INTO metrics VALUES(3,3,'completion_p99',0.039859787414033932828,NULL,NULL);
INSERT INTO metrics VALUES(3,4,'completion_max',0.039935350238435418646,NULL,NULL);
INSERT INTO metrics VALUES(3,5,'sample_completion_mean',0.038253406954252146265,NULL,NULL);
INSERT INTO metrics VALUES(3,6,'queue_mean',0.00033810433357454411319,NULL,NULL);
INSERT INTO metrics VALUES(3,7,'queue_p50',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,8,'queue_p99',0.001927194701370893784,NULL,NULL);
INSERT INTO metrics VALUES(3,9,'ttft_mean',0.013295680617375182919,NULL,NULL);
INSERT INTO metrics VALUES(3,10,'ttft_p50',0.012941792001442964377,NULL,NULL);
INSERT INTO metrics VALUES(3,11,'ttft_p90',0.014003457848740685776,NULL,NULL);
INSERT INTO metrics VALUES(3,12,'ttft_p99',0.014958957111308634341,NULL,NULL);
INSERT INTO metrics VALUES(3,13,'tpot_mean',0.012478863168629080945,NULL,NULL);
INSERT INTO metrics VALUES(3,14,'tpot_p50',0.012424228716362506474,NULL,NULL);
INSERT INTO metrics VALUES(3,15,'tpot_p90',0.012588132072839930408,NULL,NULL);
INSERT INTO metrics VALUES(3,16,'tpot_p99',0.012725848994317213308,NULL,NULL);
INSERT INTO metrics VALUES(3,17,'token_gap_mean',0.012478863168521647786,NULL,NULL);
INSERT INTO metrics VALUES(3,18,'token_gap_p50',0.012424422488029662758,NULL,NULL);
INSERT INTO metrics VALUES(3,19,'token_gap_p99',0.012971521394170279495,NULL,NULL);
INSERT INTO metrics VALUES(3,20,'token_gap_max',0.013036497694595361451,NULL,NULL);
INSERT INTO metrics VALUES(3,21,'duration',0.78499007243416785151,NULL,NULL);
INSERT INTO metrics VALUES(3,22,'throughput',7.6434087648964270655,NULL,NULL);
INSERT INTO metrics VALUES(3,23,'goodput',7.6434087648964270655,NULL,NULL);
INSERT INTO metrics VALUES(3,24,'output_tokens',18.0,NULL,NULL);
INSERT INTO metrics VALUES(3,25,'tokens_per_second',22.93022629468928386,NULL,NULL);
INSERT INTO metrics VALUES(3,26,'iterations',16.0,NULL,NULL);
INSERT INTO metrics VALUES(3,27,'prompt_tokens_processed',120.0,NULL,NULL);
INSERT INTO metrics VALUES(3,28,'requests',6.0,NULL,NULL);
INSERT INTO metrics VALUES(3,29,'requests_completed',6.0,NULL,NULL);
INSERT INTO metrics VALUES(3,30,'requests_refused',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,31,'requests_shed',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,32,'requests_unfinished',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,33,'refused_context',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,34,'refused_kv_cache',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,35,'refused_batch_size',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,36,'refused_memory',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,37,'refused_no_replica',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,38,'refused_policy',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,39,'shed_queue_limit',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,40,'shed_deadline',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,41,'shed_policy',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,42,'preemptions',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,43,'restarts',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,44,'stacked_runs',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,45,'swaps',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,46,'kv_transfers',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,47,'events',22.0,NULL,NULL);
INSERT INTO metrics VALUES(3,48,'utilisation',0.15227203968576311088,NULL,NULL);
INSERT INTO metrics VALUES(3,49,'in_system_mean',0.29238642396486258512,NULL,NULL);
INSERT INTO metrics VALUES(3,50,'in_system_max',2.0,NULL,NULL);
INSERT INTO metrics VALUES(3,51,'replica_hours',0.00036850989845393553566,NULL,NULL);
INSERT INTO metrics VALUES(3,52,'gpu_hours',0.00036850989845393553566,NULL,NULL);
INSERT INTO metrics VALUES(3,53,'kv_use_mean',0.023302894352683286433,NULL,NULL);
INSERT INTO metrics VALUES(3,54,'lost_work',0.0,NULL,NULL);
INSERT INTO metrics VALUES(3,55,'usd',0.0015095086715419335065,NULL,NULL);
INSERT INTO metrics VALUES(3,56,'usd_per_million_tokens',83.861592863440762354,NULL,NULL);
INSERT INTO metrics VALUES(4,0,'jct_mean',1.1822046593333652708,NULL,NULL);
INSERT INTO metrics VALUES(4,1,'jct_p50',1.242171004000000023,NULL,NULL);
INSERT INTO metrics VALUES(4,2,'jct_p95',1.6498831432000000685,NULL,NULL);
INSERT INTO metrics VALUES(4,3,'jct_p99',1.6861242222400001367,NULL,NULL);
INSERT INTO metrics VALUES(4,4,'jct_max',1.6951844920000000982,NULL,NULL);
INSERT INTO metrics VALUES(4,5,'wait_mean',0.0,NULL,NULL);
INSERT INTO metrics VALUES(4,6,'wait_p50',0.0,NULL,NULL);
INSERT INTO metrics VALUES(4,7,'wait_p99',0.0,NULL,NULL);
INSERT INTO metrics VALUES(4,8,'slowdown_mean',1.0,NULL,NULL);
INSERT INTO metrics VALUES(4,9,'slowdown_p99',1.0,NULL,NULL);
INSERT INTO metrics VALUES(4,10,'makespan',189.40942150800000831,NULL,NULL);
INSERT INTO metrics VALUES(4,11,'utilisation',0.002340573893951074496,NULL,NULL);
INSERT INTO metrics VALUES(4,12,'gpu_hours',0.00098517054944444442526,NULL,NULL);
INSERT INTO metrics VALUES(4,13,'queue_length_mean',0.0,NULL,NULL);
INSERT INTO metrics VALUES(4,14,'queue_length_max',0.0,NULL,NULL);
INSERT INTO metrics VALUES(4,15,'stranded_gpus',0.0,NULL,NULL);
INSERT INTO metrics VALUES(4,16,'fragmentation',0.016384017257657521038,NULL,NULL);
INSERT INTO metrics VALUES(4,17,'jain_slowdown',1.0,NULL,NULL);
INSERT INTO metrics VALUES(4,18,'ftf_mean',1.0,NULL,NULL);
INSERT INTO metrics VALUES(4,19,'ftf_max',1.0,NULL,NULL);
INSERT INTO metrics VALUES(4,20,'jobs',3.0,NULL,NULL);
INSERT INTO metrics VALUES(4,21,'jobs_completed',3.0,NULL,NULL);
INSERT INTO metrics VALUES(4,22,'jobs_killed',0.0,NULL,NULL);
INSERT INTO metrics VALUES(4,23,'jobs_failed',0.0,NULL,NULL);
INSERT INTO metrics VALUES(4,24,'jobs_unfinished',0.0,NULL,NULL);
INSERT INTO metrics VALUES(4,25,'jobs_refused',0.0,NULL,NULL);
INSERT INTO metrics VALUES(4,26,'preemptions',0.0,NULL,NULL);
INSERT INTO metrics VALUES(4,27,'migrations',0.0,NULL,NULL);
INSERT INTO metrics VALUES(4,28,'restarts',0.0,NULL,NULL);
INSERT INTO metrics VALUES(4,29,'events',6.0,NULL,NULL);
CREATE TABLE events(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,
  kind TEXT NOT NULL,
  subject INTEGER NOT NULL,
  detail TEXT,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
INSERT INTO events VALUES(1,0,0,'start',0,'n0:8');
INSERT INTO events VALUES(1,1,100000000000,'finish',0,NULL);
INSERT INTO events VALUES(1,2,100000000000,'start',1,'n0:4');
INSERT INTO events VALUES(1,3,150000000000,'finish',1,NULL);
INSERT INTO events VALUES(1,4,150000000000,'start',2,'n0:8');
INSERT INTO events VALUES(1,5,170000000000,'finish',2,NULL);
INSERT INTO events VALUES(1,6,170000000000,'start',3,'n0:2');
INSERT INTO events VALUES(1,7,180000000000,'finish',3,NULL);
INSERT INTO events VALUES(1,8,0,'remark',0,'no interval if a run has too few values or their correlation extends too far: --replications 10 gives intervals (of a trace from a file with --resample)');
INSERT INTO events VALUES(1,9,0,'assumption',0,'a job takes its recorded duration on every GPU type (jobs.reference_type scales it)');
INSERT INTO events VALUES(1,10,0,'assumption',0,'placement: count; a start costs 0 s, a preemption 0 s of work, a move to other nodes 0 s');
INSERT INTO events VALUES(2,0,0,'start',0,'n0:8');
INSERT INTO events VALUES(2,1,100000000000,'finish',0,NULL);
INSERT INTO events VALUES(2,2,100000000000,'start',1,'n0:4');
INSERT INTO events VALUES(2,3,100000000000,'start',3,'n0:2');
INSERT INTO events VALUES(2,4,110000000000,'finish',3,NULL);
INSERT INTO events VALUES(2,5,150000000000,'finish',1,NULL);
INSERT INTO events VALUES(2,6,150000000000,'start',2,'n0:8');
INSERT INTO events VALUES(2,7,170000000000,'finish',2,NULL);
INSERT INTO events VALUES(2,8,0,'remark',0,'no interval if a run has too few values or their correlation extends too far: --replications 10 gives intervals (of a trace from a file with --resample)');
INSERT INTO events VALUES(2,9,0,'assumption',0,'a job takes its recorded duration on every GPU type (jobs.reference_type scales it)');
INSERT INTO events VALUES(2,10,0,'assumption',0,'placement: count; a start costs 0 s, a preemption 0 s of work, a move to other nodes 0 s');
INSERT INTO events VALUES(3,0,0,'remark',0,'no interval if a run has too few values or their correlation extends too far: --replications 10 gives intervals (of a trace from a file with --resample)');
INSERT INTO events VALUES(3,1,0,'cost-source',0,'llama2-7b on a100: layers of llama2_7b by profile a100 (not measured, scaled from microsoft/vidur 7d47513, 2024; median error 6.6 %, mean 13 %) for gemm, memory, gather (its laws here: error not known); attention by roofline on a100');
INSERT INTO events VALUES(3,2,0,'prices',0,'a100: 4.096 USD per GPU hour (AWS p4d.24xlarge on demand, 32.77 USD/h for 8 GPUs; usage.ai, AWS GPU instances)');
INSERT INTO events VALUES(3,3,0,'assumption',0,'llama2-7b: 13.48 GB of weights (fp16, 2 bytes per parameter), 524288 bytes of KV cache per token (fp16: kv_precision=auto); context of 4096 tokens of prompt and output');
INSERT INTO events VALUES(3,4,0,'assumption',0,'KV cache of a replica: llama2-7b on a100 (tp 1, pp 1): 48016 tokens (serve.kv_part); 90 % of the memory is for weights and KV cache');
INSERT INTO events VALUES(4,0,130765640229,'start',0,'n0:1');
INSERT INTO events VALUES(4,1,132007811233,'finish',0,NULL);
INSERT INTO events VALUES(4,2,310734634015,'start',1,'n0:1');
INSERT INTO events VALUES(4,3,311343892497,'finish',1,NULL);
INSERT INTO events VALUES(4,4,318479877245,'start',2,'n0:1');
INSERT INTO events VALUES(4,5,320175061737,'finish',2,NULL);
INSERT INTO events VALUES(4,6,0,'remark',0,'no interval if a run has too few values or their correlation extends too far: --replications 10 gives intervals (of a trace from a file with --resample)');
INSERT INTO events VALUES(4,7,0,'assumption',0,'a job takes its recorded duration on every GPU type (jobs.reference_type scales it)');
INSERT INTO events VALUES(4,8,0,'assumption',0,'placement: count; a start costs 0 s, a preemption 0 s of work, a move to other nodes 0 s');
CREATE TABLE iterations(
  run INTEGER NOT NULL REFERENCES runs(run),
  number INTEGER NOT NULL,
  start_s REAL,
  end_s REAL,
  samples REAL,
  PRIMARY KEY(run, number)) WITHOUT ROWID;
CREATE TABLE devices(
  run INTEGER NOT NULL REFERENCES runs(run),
  device INTEGER NOT NULL,
  node INTEGER NOT NULL,
  compute_s REAL,
  optimizer_s REAL,
  codec_s REAL,
  exposed_s REAL,
  bubble_s REAL,
  idle_s REAL,
  peak_memory_bytes REAL,
  sent_bytes REAL,
  PRIMARY KEY(run, device)) WITHOUT ROWID;
CREATE TABLE spans(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  device INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  start_s REAL,
  end_s REAL,
  kind TEXT NOT NULL,
  label TEXT,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
CREATE TABLE requests(
  key INTEGER PRIMARY KEY,
  run INTEGER AS (key >> 32),
  number INTEGER AS (key & 4294967295),
  request_id TEXT,
  model TEXT,
  arrival_s REAL,
  first_token_s REAL,
  completed_s REAL,
  queue_s REAL,
  prompt_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  preemptions INTEGER NOT NULL,
  replica INTEGER,
  status INTEGER NOT NULL);
INSERT INTO requests VALUES(12884901888,NULL,'llama2-7b',0.54164556200000002483,0.55458735400144298921,0.57943581143416800216,0.0,20,3,0,0,0);
INSERT INTO requests VALUES(12884901889,NULL,'llama2-7b',0.6730828960000000416,0.68602468800144300598,0.71087314543416801893,0.0,20,3,0,0,0);
INSERT INTO requests VALUES(12884901890,NULL,'llama2-7b',0.98716828000000000908,1.0001100720014428624,1.0249585294341678753,0.0,20,3,0,0,0);
INSERT INTO requests VALUES(12884901891,NULL,'llama2-7b',1.0557451710000000932,1.0686869630014430576,1.0941692647504057678,0.0,20,3,0,0,0);
INSERT INTO requests VALUES(12884901892,NULL,'llama2-7b',1.0666583370000000119,1.0817234606960384191,1.1065936872384354305,0.0020286260014430457232,20,3,0,0,0);
INSERT INTO requests VALUES(12884901893,NULL,'llama2-7b',1.288845384999999899,1.3017871770014428633,1.3266356344341678763,0.0,20,3,0,0,0);
CREATE TABLE replicas(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  replica INTEGER NOT NULL,
  deployment INTEGER NOT NULL,
  model TEXT,
  gpus INTEGER NOT NULL,
  places TEXT NOT NULL,
  start_ns INTEGER NOT NULL,
  ready_ns INTEGER,
  stop_ns INTEGER,
  reason TEXT,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
INSERT INTO replicas VALUES(3,0,0,0,'llama2-7b',1,'n0:1',0,0,1326635634,'over');
CREATE TABLE nodes(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,
  live INTEGER NOT NULL,
  ready INTEGER NOT NULL,
  in_use INTEGER NOT NULL,
  usd REAL,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
CREATE TABLE accounts(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  account TEXT NOT NULL,
  node_s REAL,
  usd REAL,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
CREATE TABLE endpoints(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  device INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
CREATE TABLE parts(
  run INTEGER NOT NULL REFERENCES runs(run),
  position INTEGER NOT NULL,
  entity TEXT NOT NULL,
  subject INTEGER NOT NULL,
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,
  kind TEXT NOT NULL,
  cause TEXT,
  detail TEXT,
  PRIMARY KEY(run, position)) WITHOUT ROWID;
INSERT INTO parts VALUES(1,0,'job',1,5000000000,100000000000,'queued','job j0','4 GPUs asked, 0 free');
INSERT INTO parts VALUES(1,1,'job',1,100000000000,150000000000,'compute',NULL,NULL);
INSERT INTO parts VALUES(1,2,'job',2,6000000000,100000000000,'ordered','job j1',NULL);
INSERT INTO parts VALUES(1,3,'job',2,100000000000,150000000000,'queued','job j1','8 GPUs asked, 4 free');
INSERT INTO parts VALUES(1,4,'job',2,150000000000,170000000000,'compute',NULL,NULL);
INSERT INTO parts VALUES(1,5,'job',3,7000000000,150000000000,'ordered','job j"2\',NULL);
INSERT INTO parts VALUES(1,6,'job',3,150000000000,170000000000,'queued','job j"2\','2 GPUs asked, 0 free');
INSERT INTO parts VALUES(1,7,'job',3,170000000000,180000000000,'compute',NULL,NULL);
INSERT INTO parts VALUES(1,8,'node',0,0,100000000000,'in use',NULL,NULL);
INSERT INTO parts VALUES(1,9,'node',0,100000000000,150000000000,'in use',NULL,NULL);
INSERT INTO parts VALUES(1,10,'node',0,150000000000,170000000000,'in use',NULL,NULL);
INSERT INTO parts VALUES(1,11,'node',0,170000000000,180000000000,'in use',NULL,NULL);
INSERT INTO parts VALUES(2,0,'job',1,5000000000,100000000000,'queued','job j0','4 GPUs asked, 0 free');
INSERT INTO parts VALUES(2,1,'job',1,100000000000,150000000000,'compute',NULL,NULL);
INSERT INTO parts VALUES(2,2,'job',2,6000000000,100000000000,'queued','job j0',NULL);
INSERT INTO parts VALUES(2,3,'job',2,100000000000,150000000000,'queued','job j1','8 GPUs asked, 4 free');
INSERT INTO parts VALUES(2,4,'job',2,150000000000,170000000000,'compute',NULL,NULL);
INSERT INTO parts VALUES(2,5,'job',3,7000000000,100000000000,'queued','job j0','2 GPUs asked, 0 free');
INSERT INTO parts VALUES(2,6,'job',3,100000000000,110000000000,'compute',NULL,NULL);
INSERT INTO parts VALUES(2,7,'node',0,0,100000000000,'in use',NULL,NULL);
INSERT INTO parts VALUES(2,8,'node',0,100000000000,150000000000,'in use',NULL,NULL);
INSERT INTO parts VALUES(2,9,'node',0,150000000000,170000000000,'in use',NULL,NULL);
INSERT INTO parts VALUES(3,0,'request',0,541645562,554587354,'prefill',NULL,NULL);
INSERT INTO parts VALUES(3,1,'request',0,554587354,579435811,'decode',NULL,NULL);
INSERT INTO parts VALUES(3,2,'request',1,673082896,686024688,'prefill',NULL,NULL);
INSERT INTO parts VALUES(3,3,'request',1,686024688,710873145,'decode',NULL,NULL);
INSERT INTO parts VALUES(3,4,'request',2,987168280,1000110072,'prefill',NULL,NULL);
INSERT INTO parts VALUES(3,5,'request',2,1000110072,1024958529,'decode',NULL,NULL);
INSERT INTO parts VALUES(3,6,'request',3,1055745171,1068686963,'prefill',NULL,NULL);
INSERT INTO parts VALUES(3,7,'request',3,1068686963,1093556802,'decode',NULL,NULL);
INSERT INTO parts VALUES(3,8,'request',3,1093556802,1094169265,'stalled','prompts of others',NULL);
INSERT INTO parts VALUES(3,9,'request',4,1066658337,1068686963,'queued','the running iteration',NULL);
INSERT INTO parts VALUES(3,10,'request',4,1068686963,1081628755,'prefill',NULL,NULL);
INSERT INTO parts VALUES(3,11,'request',4,1081628755,1081723461,'stalled','other requests of the same iterations',NULL);
INSERT INTO parts VALUES(3,12,'request',4,1081723461,1106593687,'decode',NULL,NULL);
INSERT INTO parts VALUES(3,13,'request',5,1288845385,1301787177,'prefill',NULL,NULL);
INSERT INTO parts VALUES(3,14,'request',5,1301787177,1326635634,'decode',NULL,NULL);
CREATE VIEW jobs_s AS
  SELECT r.run, r.label, r.policy,
    t.number AS number,
    coalesce(t.job_id, CAST(t.number AS TEXT)) AS job_id,
    t.user AS user,
    t.queue AS queue,
    t.model AS model,
    t.submit_ns / 1e9 AS submit_s,
    t.start_ns / 1e9 AS start_s,
    t.end_ns / 1e9 AS end_s,
    (t.end_ns - t.submit_ns) / 1e9 AS jct_s,
    t.wait_ns / 1e9 AS wait_s,
    t.run_ns / 1e9 AS run_s,
    t.duration_ns / 1e9 AS duration_s,
    t.recorded_wait_ns / 1e9 AS recorded_wait_s,
    CASE WHEN t.duration_ns > 0 THEN (t.end_ns - t.submit_ns) * 1.0 / t.duration_ns END AS slowdown,
    t.gpus AS gpus,
    t.gpu_milli AS gpu_milli,
    t.preemptions AS preemptions,
    t.migrations AS migrations,
    t.restarts AS restarts,
    CASE t.status WHEN 0 THEN 'completed' WHEN 1 THEN 'killed' WHEN 2 THEN 'failed' WHEN 3 THEN 'unfinished' END AS status
  FROM runs r JOIN jobs t ON t.key BETWEEN r.run << 32 AND (r.run << 32) + 4294967295;
CREATE VIEW metrics_s AS
  SELECT r.run, r.label, r.policy, t.position,
    t.name AS name,
    t.value AS value,
    t.ci_low AS ci_low,
    t.ci_high AS ci_high
  FROM metrics t JOIN runs r USING(run);
CREATE VIEW events_s AS
  SELECT r.run, r.label, r.policy, t.position,
    t.time_ns / 1e9 AS time_s,
    t.kind AS kind,
    t.subject AS subject,
    t.detail AS detail
  FROM events t JOIN runs r USING(run);
CREATE VIEW iterations_s AS
  SELECT r.run, r.label, r.policy,
    t.number AS number,
    t.start_s AS start_s,
    t.end_s AS end_s,
    t.samples AS samples
  FROM iterations t JOIN runs r USING(run);
CREATE VIEW devices_s AS
  SELECT r.run, r.label, r.policy,
    t.device AS device,
    t.node AS node,
    t.compute_s AS compute_s,
    t.optimizer_s AS optimizer_s,
    t.codec_s AS codec_s,
    t.exposed_s AS exposed_s,
    t.bubble_s AS bubble_s,
    t.idle_s AS idle_s,
    t.peak_memory_bytes AS peak_memory_bytes,
    t.sent_bytes AS sent_bytes
  FROM devices t JOIN runs r USING(run);
CREATE VIEW spans_s AS
  SELECT r.run, r.label AS run_label, r.policy, t.position,
    t.device AS device,
    t.stream AS stream,
    t.iteration AS iteration,
    t.start_s AS start_s,
    t.end_s AS end_s,
    t.kind AS kind,
    t.label AS label
  FROM spans t JOIN runs r USING(run);
CREATE VIEW requests_s AS
  SELECT r.run, r.label, r.policy,
    t.number AS number,
    coalesce(t.request_id, CAST(t.number AS TEXT)) AS request_id,
    t.model AS model,
    t.arrival_s AS arrival_s,
    t.first_token_s AS first_token_s,
    t.completed_s AS completed_s,
    t.queue_s AS queue_s,
    t.completed_s - t.arrival_s AS e2e_s,
    t.first_token_s - t.arrival_s AS ttft_s,
    CASE WHEN t.output_tokens > 1 THEN (t.completed_s - t.first_token_s) / (t.output_tokens - 1) END AS tpot_s,
    t.prompt_tokens AS prompt_tokens,
    t.output_tokens AS output_tokens,
    t.preemptions AS preemptions,
    t.replica AS replica,
    CASE t.status WHEN 0 THEN 'completed' WHEN 1 THEN 'refused' WHEN 2 THEN 'shed' WHEN 3 THEN 'unfinished' END AS status
  FROM runs r JOIN requests t ON t.key BETWEEN r.run << 32 AND (r.run << 32) + 4294967295;
CREATE VIEW replicas_s AS
  SELECT r.run, r.label, r.policy, t.position,
    t.replica AS replica,
    t.deployment AS deployment,
    t.model AS model,
    t.gpus AS gpus,
    t.places AS places,
    t.start_ns / 1e9 AS start_s,
    t.ready_ns / 1e9 AS ready_s,
    t.stop_ns / 1e9 AS stop_s,
    t.reason AS reason
  FROM replicas t JOIN runs r USING(run);
CREATE VIEW nodes_s AS
  SELECT r.run, r.label, r.policy, t.position,
    t.time_ns / 1e9 AS time_s,
    t.live AS live,
    t.ready AS ready,
    t.in_use AS in_use,
    t.usd AS usd
  FROM nodes t JOIN runs r USING(run);
CREATE VIEW accounts_s AS
  SELECT r.run, r.label, r.policy, t.position,
    t.account AS account,
    t.node_s AS node_s,
    t.usd AS usd
  FROM accounts t JOIN runs r USING(run);
CREATE VIEW endpoints_s AS
  SELECT r.run, r.label, r.policy, t.position,
    t.device AS device,
    t.name AS name
  FROM endpoints t JOIN runs r USING(run);
CREATE VIEW parts_s AS
  SELECT r.run, r.label, r.policy, t.position,
    t.entity AS entity,
    t.subject AS subject,
    t.begin_ns / 1e9 AS begin_s,
    t.end_ns / 1e9 AS end_s,
    t.kind AS kind,
    t.cause AS cause,
    t.detail AS detail
  FROM parts t JOIN runs r USING(run);
CREATE VIEW runs_s AS
  SELECT r.run, r.label, r.policy, r.world, r.is_oracle, r.seed, r.hash, r.version,
    r.rows_total, r.wall_s, r.cpu_s, r.host, r.created_at,
    CASE WHEN r.overrides IS NULL THEN b.text ELSE json_patch(b.text, r.overrides) END AS scenario
  FROM runs r LEFT JOIN scenarios b USING(base);
CREATE VIEW summary AS
  SELECT r.run, r.label, r.policy, r.is_oracle, r.seed,
    m.name AS metric, m.value, m.ci_low, m.ci_high
  FROM metrics m JOIN runs r USING(run)
  ORDER BY r.run, m.position;
CREATE VIEW series_s AS
  SELECT p.run, r.label, s.name, p.point, p.time_ns / 1e9 AS time_s, p.value
  FROM series_points p JOIN series s USING(run, series) JOIN runs r USING(run);
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
CREATE VIEW accounts_h AS
  SELECT a.run, r.label, r.policy, a.account, a.node_s / 3600 AS node_h, a.usd
  FROM accounts a JOIN runs r USING(run)
  ORDER BY a.run, a.position;
COMMIT;
