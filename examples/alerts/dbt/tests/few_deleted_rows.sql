select location, deleted_record_ratio
from {{ source('lakebed', 'health') }}
where deleted_record_ratio > {{ var('deleted_ratio', 0.1) }}
