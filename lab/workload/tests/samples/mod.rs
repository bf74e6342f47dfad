//! Small traces, as they are published.

/// A trace of Meta's caches, in its form of 2024.
pub(crate) const KVCACHE_2024: &str = "\
op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase
604038471,aa,48,GET,2,0,0,0,366387042,3003229276
604038471,aa,48,SET,1,87,0,3600,366387042,3003229276
604038472,bb,24,GET_LEASE,3,10,3,0,699950563,699950563
604038472,bb,24,SET_LEASE,1,12,0,60,699950563,699950563
604038473,aa,48,DELETE,1,0,0,0,366387042,3003229276
";

/// A trace of Twitter's caches.
pub(crate) const TWITTER: &str = "\
0,nz:u:eeW511,13,212,7,get,0
0,nz:u,with,commas,15,40,7,set,86400
1,nz:u:eeW511,13,0,9,delete,0
2,counter,7,8,9,incr,300
3,nz:u:eeW511,13,212,7,gets,0
";
